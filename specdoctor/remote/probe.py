"""One read-only look at a host: engines, their processes, logs, models, packages and GPUs, as one JSON document.

Nothing is written, no request is generated, secrets are masked before anything is printed.
"""

import functools
import os
import sys
import threading
import time
import traceback
from typing import Any, Callable, Dict, List, Set, Tuple

from specdoctor.remote.parts.answer import run_program
from specdoctor.remote.parts.commands import gpu_holders, query_gpu_apps, query_gpus, run_command
from specdoctor.remote.parts.engine_processes import (
    Server,
    container_of,
    describe_process,
    find_servers,
    http_socket,
    own_container_start,
    ports_by_pid,
    relevant_pids,
)
from specdoctor.remote.parts.host_facts import read_host
from specdoctor.remote.parts.installed_engine import installed_for, rule_files
from specdoctor.remote.parts.interpreter_packages import import_path, read_packages, root_of
from specdoctor.remote.parts.keeping import kept_facts
from specdoctor.remote.parts.lease import held_leases
from specdoctor.remote.parts.local_http import endpoint_of, get
from specdoctor.remote.parts.model_files import config_words, files_of_server, read_file
from specdoctor.remote.parts.older_logs import boots, older_logs
from specdoctor.remote.parts.procfs import (
    Stat,
    all_stats,
    boot_time,
    holders_of_port,
    link_of,
    proc_path,
    read_text,
    tick_zero,
)
from specdoctor.remote.parts.redaction import mask_all, spellings
from specdoctor.remote.parts.script_loop import loops_above
from specdoctor.remote.parts.server_logs import kept_log, likely_logs, log_places, read_log

PARAMS_JSON = "{}"
PATHS: Dict[str, Tuple[Tuple[str, ...], ...]] = {
    "sglang": (
        ("/server_info", "/get_server_info"),
        ("/model_info", "/get_model_info"),
        ("/v1/models",),
        ("/metrics",),
        ("/v1/loads",),
    ),
    "vllm": (("/v1/models",), ("/metrics",), ("/version",), ("/server_info?config_format=json",)),
    "llamacpp": (("/props",), ("/slots",), ("/v1/models",), ("/metrics",)),
    "trtllm": (("/v1/models",), ("/version",), ("/prometheus/metrics",)),
}


def in_parallel(tasks: Dict[str, Callable[[], Any]], problems: List[str]) -> Dict[str, Any]:
    """Run the tasks side by side and wait for all; each bounds its own time. One that breaks is a problem noted."""
    results: Dict[str, Any] = {}

    def run(name: str, task: Callable[[], Any]) -> None:
        try:
            results[name] = task()
        finally:
            if name not in results:
                problems.append("%s could not be read: %s" % (name, traceback.format_exc(limit=-1).splitlines()[-1]))

    threads = [threading.Thread(target=run, args=(name, task)) for name, task in tasks.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {name: results[name] for name in tasks if name in results}


def with_config(server: Server) -> Server:
    """The server with the values of its own YAML file among its words; the command line comes later and wins."""
    words = config_words(server.argv, link_of(server.pid, "cwd"), root_of(server.pid))
    return server._replace(argv=server.argv[:1] + words + server.argv[1:])


def ask_server(server: Server, ports: List[int], timeout_s: float, problems: List[str]) -> Dict[str, Dict[str, Any]]:
    """{port: {path: reply}}; an older name of a path is asked only when the newer is not there."""
    entry = http_socket(server, ports)
    if entry is None:
        return {}
    endpoint = endpoint_of(server.pid, entry, server.argv, server.env)

    def first_known(names: Tuple[str, ...]) -> Dict[str, Any]:
        replies: Dict[str, Any] = {}
        for name in names:
            replies[name] = get(endpoint, name, timeout_s)
            if replies[name]["status"] != 404:
                break
        return replies

    groups = PATHS[server.engine]
    found = in_parallel({names[0]: functools.partial(first_known, names) for names in groups}, problems)
    return {str(entry.port): {path: reply for replies in found.values() for path, reply in replies.items()}}


def installed_of(servers: List[Server]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Packages by interpreter, and what the engine's own source says of captured states.

    Without a server the packages are those of the first python in PATH.
    """
    found: Dict[str, Any] = {}
    rules: Dict[str, Any] = {}
    for server in servers:
        one = installed_for(server)
        if one.interpreter and one.interpreter not in found:
            found[one.interpreter] = one.packages
        rules.update(rule_files(server, one, rules))
    if not servers and sys.executable:
        found[sys.executable] = read_packages(import_path(sys.executable, {}, None, ""), "")
    return found, rules


def files_of(servers: List[Server], asked: List[str]) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for server in servers:
        found.update(files_of_server(server.argv, server.env, link_of(server.pid, "cwd"), root_of(server.pid)))
    found.update((path, read_file(path, path)) for path in asked)
    return found


def logs_of(servers: List[Server], asked: List[str], keep: int, problems: List[str]) -> List[Dict[str, Any]]:
    found: List[Dict[str, Any]] = []
    for server in servers:
        places = log_places(server.pid, problems)
        found += [read_log(label, path, pid, keep) for label, path, pid in places]
        if not places:
            cgroup = read_text(proc_path(server.pid, "cgroup")) or ""
            kept = kept_log(cgroup, container_of(server.pid, cgroup), keep)
            found += [dict(kept, pid=server.pid)] if kept else []
    if not servers and not asked:
        asked = likely_logs(os.path.expanduser("~"))
    seen = {str(log["path"]) for log in found}
    return found + [read_log(path, path, None, keep) for path in asked if path not in seen]


def older_logs_of(servers: List[Server], asked: List[str]) -> List[Dict[str, Any]]:
    """Logs of earlier starts, beside those that the servers write now."""
    places = [place for server in servers for place in log_places(server.pid, [])]
    return older_logs(places + [(path, path, os.getpid()) for path in asked if path.startswith("/")])


def keeper_commands(described: List[Dict[str, Any]], servers: List[Server]) -> Dict[str, Any]:
    """What docker or systemd say about the servers that they keep."""
    found: Dict[str, Any] = {}
    launchers = {server.pid for server in servers}
    for process in described:
        cgroup = str(process["cgroup"])
        unit = [part for part in cgroup.split("/") if part.endswith(".service") and not part.startswith("user@")]
        if process["pid"] not in launchers:
            continue
        if process["container_id"]:
            form = "{{.Name}} {{.HostConfig.RestartPolicy.Name}} {{.Config.Image}}"
            tool = "podman" if "libpod" in cgroup else "docker"
            found["container"] = run_command([tool, "inspect", "--format", form, str(process["container_id"])], 5.0)
        elif unit:
            wanted = "--property=Id,Restart,FragmentPath,ActiveState,MainPID"
            own = ["--user"] if "/user@" in cgroup else []
            found["unit"] = run_command(["systemctl", *own, "show", unit[-1], wanted], 5.0)
    return found


def kept_servers(servers: List[Server], stats: Dict[int, Stat]) -> List[Dict[str, Any]]:
    """How each server is kept, and what stands in the way of a restart through its keeper."""
    found = []
    for server in servers:
        cgroup = (read_text(proc_path(server.pid, "cgroup")) or "").strip()
        kept = kept_facts(stats[server.pid], cgroup, container_of(server.pid, cgroup), server.env)
        found += [kept] if kept else []
    return found


def no_command(name: str) -> Dict[str, Any]:
    return {"argv": [name], "exit_code": None, "stdout": "", "error": "could not be read"}


def look(params: Dict[str, Any]) -> Dict[str, Any]:
    """Facts in the form of `specdoctor.facts/1`."""
    begun, taken_at = time.monotonic(), time.time()
    problems: List[str] = []
    secrets: Set[str] = set()
    stats = all_stats()
    servers = [with_config(server) for server in find_servers(stats)]
    ports = [int(port) for port in params["ports"]]
    timeout_s = float(params["http_timeout_s"]) if params["http"] else 0.0
    asked = servers if params["http"] else []
    read = in_parallel(
        {
            "gpus": query_gpus,
            "gpu_apps": query_gpu_apps,
            "gpu_topology": lambda: run_command(["nvidia-smi", "topo", "-m"]),
            "installed": lambda: installed_of(servers),
            "files": lambda: files_of(servers, list(params["files"])),
            "logs": lambda: logs_of(servers, list(params["logs"]), int(params["log_bytes"]), problems),
            "older_logs": lambda: older_logs_of(servers, list(params["logs"])) if params.get("history") else [],
            "kept": lambda: kept_servers(servers, stats),
            "http": lambda: [ask_server(server, ports, timeout_s, problems) for server in asked],
        },
        problems,
    )
    packages, rules = read.get("installed") or ({}, {})
    commands = {name: read.get(name) or no_command(name) for name in ("gpus", "gpu_apps", "gpu_topology")}
    described = describe(stats, servers, ports, gpu_holders(commands["gpu_apps"]), problems, secrets)
    commands.update(keeper_commands(described, servers))
    facts = {
        "schema": "specdoctor.facts/1",
        "taken_at": taken_at,
        "host": dict(read_host(), boots=boots()),
        "processes": described,
        "packages": packages,
        "files": dict(read.get("files") or {}, **rules),
        "logs": read.get("logs") or [],
        "older_logs": read.get("older_logs") or [],
        "http": {port: replies for each in read.get("http") or [] for port, replies in each.items()},
        "commands": commands,
        "kept": read.get("kept") or [],
        "leases": held_leases(),
        "problems": problems,
    }
    masked: Dict[str, Any] = mask_all(facts, spellings(secrets))
    return dict(masked, duration_s=time.monotonic() - begun)


def describe(
    stats: Dict[int, Stat],
    servers: List[Server],
    ports: List[int],
    holders: Dict[int, int],
    problems: List[str],
    secrets: Set[str],
) -> List[Dict[str, Any]]:
    others = list(holders) + [pid for port in ports for pid in holders_of_port(port, stats)]
    pids = relevant_pids(stats, servers, others, problems)
    listening = ports_by_pid(pids)
    zero = tick_zero()
    around = own_container_start(stats, zero, boot_time())
    described = [describe_process(stats[pid], stats, zero, listening, secrets, around) for pid in pids if pid in stats]
    loops = loops_above(servers, stats)
    return [dict(each, script_loop=loops.get(each["pid"])) for each in described]


if __name__ == "__main__":
    sys.exit(run_program(look, PARAMS_JSON))
