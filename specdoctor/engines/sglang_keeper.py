"""Who keeps a server alive: a person's shell, a container, a service manager, a scheduler, or a group of servers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from specdoctor.core.facts import Facts, ProcessFacts
from specdoctor.core.server import Keeper, KeeperKind

_CONTAINER = re.compile(
    r"(?:/docker/|docker-)(?P<docker>[0-9a-f]{12,64})|libpod-(?P<podman>[0-9a-f]{12,64})"
    r"|(?P<kube>kubepods)|(?:cri-containerd-|crio-|/containerd/)(?P<other>[0-9a-f]{12,64})"
)
_SLURM = re.compile(r"/job_(?P<job>\d+)")
_SERVICE = re.compile(r"([\w@.\\:-]+\.service)(?:/|$)")
# Services in whose cgroup a process merely happens to be: log-in, remote shells, timers, the user's own manager.
_PASSING_SERVICES = re.compile(
    r"(?:user@\d+|ssh|sshd|sshd?@.*|dropbear.*|cron|crond|atd|anacron|getty@.*|serial-getty@.*|console-getty|tailscaled"
    r"|docker|containerd|init|systemd-logind|jupyter.*|code-server.*|vscode.*|tmux.*|screen.*)\.service"
)
_SUPERVISORS = ("supervisord", "s6-supervise", "runsv", "circusd", "monit", "pm2", "god", "watchman", "daemontools")
_LOOP = re.compile(r"\b(?:while|until|for)\b.*\bdo\b", re.DOTALL)
_ROUTERS = ("sglang_router", "sglang-router", "sgl-model-gateway", "smg")
_NEAR_START_S = 120.0


def _integer(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0


def _ancestors(facts: Facts, process: ProcessFacts) -> Iterator[ProcessFacts]:
    by_pid = {p.pid: p for p in facts.processes}
    seen = {process.pid}
    parent = by_pid.get(process.ppid)
    while parent is not None and parent.pid not in seen:
        seen.add(parent.pid)
        yield parent
        parent = by_pid.get(parent.ppid)


def _kept(kind: KeeperKind, detail: str, reason: str, by_hand: str) -> Keeper:
    return Keeper(kind=kind, detail=detail, restartable=False, reason=reason, by_hand=by_hand)


def _group(asked: Mapping[str, str]) -> Keeper | None:
    """A server that is one of several which only work together."""
    nodes = _integer(asked.get("nnodes"))
    if nodes > 1:
        return _kept(
            "multi-node",
            f"{nodes} nodes",
            f"it is one of {nodes} nodes (--nnodes), which must all be restarted together with the same arguments",
            "stop the server on every node, then start it on every node with the changed arguments",
        )
    mode = asked.get("disaggregation_mode", "null")
    if mode not in ("null", "None", ""):
        return _kept(
            "multi-node",
            f"disaggregation {mode}",
            f"it is the {mode} side of a disaggregated pair, whose other side would lose its requests",
            "take it out of the router first, then restart both sides",
        )
    if asked.get("use_ray") == "True":
        return _kept(
            "ray", "--use-ray", "its processes are Ray actors, which Ray keeps", "ray stop, then start it as before"
        )
    return None


def _router(facts: Facts, process: ProcessFacts, port: int, ancestors: list[ProcessFacts]) -> Keeper | None:
    own = {p.pid for p in ancestors}
    for other in facts.processes:
        line = " ".join(other.argv)
        if other.pid == process.pid or not any(name in line for name in _ROUTERS):
            continue
        if other.pid in own or re.search(rf":{port}(?:\D|$)", line):
            return _kept(
                "unknown",
                f"router pid {other.pid}",
                f"it is a worker of a router (pid {other.pid}), which sends it requests",
                "take the worker out of the router, then restart it by hand",
            )
    return None


def _supervisor(ancestors: list[ProcessFacts]) -> Keeper | None:
    for parent in ancestors:
        words = [PurePosixPath(word).name for word in parent.argv[:3]] + [parent.comm]
        name = next((s for s in _SUPERVISORS if s in words), None)
        if name is not None:
            return _kept(
                "unknown",
                f"{name} pid {parent.pid}",
                f"{name} (pid {parent.pid}) started it and would start it again",
                f"stop it through {name}, then start it by hand with the changed arguments",
            )
        if "raylet" in words:
            return _kept("ray", f"raylet pid {parent.pid}", "it is a Ray worker", "change it where Ray starts it")
        script = parent.argv[2] if len(parent.argv) > 2 and parent.argv[1] in ("-c", "-lc") else ""
        if _LOOP.search(script):
            return _kept(
                "unknown",
                f"shell loop pid {parent.pid}",
                f"a shell loop (pid {parent.pid}) would start it again as it was",
                f"kill {parent.pid}, then start the server by hand with the changed arguments",
            )
    return None


def _inspected(facts: Facts, container: str) -> tuple[str, str]:
    """Name and restart policy of a container, from `inspect --format "{{.Name}} {{...RestartPolicy.Name}} ..."`."""
    for command in facts.commands.values():
        words = command.stdout.split()
        if "inspect" in command.argv and command.argv[-1].startswith(container) and len(words) >= 2:
            return words[0].lstrip("/"), words[1]
    return "", ""


def _unit_restart(facts: Facts, unit: str) -> str:
    """The restart setting of a unit, from `systemctl show`."""
    for command in facts.commands.values():
        fields = dict(line.split("=", 1) for line in command.stdout.splitlines() if "=" in line)
        if "show" in command.argv and fields.get("Id") == unit:
            return fields.get("Restart", "")
    return ""


def _same_container_as_probe(facts: Facts, process: ProcessFacts) -> bool:
    """Whether we look from inside the container: then its first process is pid 1 of what we see."""
    first = next((p for p in facts.processes if p.pid == 1), None)
    return first is not None and first.cgroup == process.cgroup


def _main_of_container(process: ProcessFacts, ancestors: list[ProcessFacts]) -> bool:
    """Whether ending the server would end the container that we are inside of: its first process waits for it."""
    if process.pid == 1:
        return True
    first = ancestors[0] if ancestors and ancestors[0].pid == 1 else None
    if first is None:
        return False
    if any("sglang" in word for word in first.argv):
        return True
    shell = PurePosixPath(first.argv[0]).name if first.argv else ""
    born, began = process.started_at, first.started_at
    soon = born is not None and began is not None and born - began < _NEAR_START_S
    return soon and shell in ("sh", "bash", "tini", "dumb-init", "docker-init") and len(first.argv) > 1


def _container(facts: Facts, process: ProcessFacts, ancestors: list[ProcessFacts]) -> Keeper | None:
    match = _CONTAINER.search(process.cgroup)
    inside = _same_container_as_probe(facts, process)
    if inside and not _main_of_container(process, ancestors):
        return None
    if inside and (match is not None or process.container_id or process.pid == 1):
        return _kept(
            "kubernetes" if match is not None and match["kube"] else "docker",
            "main process of its container",
            "it is the main process of the container we are in, which would end with it",
            "restart the container from its host with the changed arguments",
        )
    if match is None and not process.container_id:
        return None
    if match is not None and match["kube"]:
        return _kept(
            "kubernetes",
            process.container_id[:12] if process.container_id else "pod",
            "Kubernetes keeps its pod and would start it again as it was",
            "kubectl edit the workload that owns the pod: change the arguments there and let it roll out",
        )
    podman = match is not None and bool(match["podman"])
    found = (match["docker"] or match["podman"] or match["other"]) if match is not None else None
    identity = (found or process.container_id or "")[:12]
    tool: KeeperKind = "podman" if podman else "docker"
    name, policy = _inspected(facts, identity)
    shown = name or identity
    detail = f"container {shown}" + (f", restart policy {policy}" if policy and policy != "no" else "")
    return _kept(
        tool,
        detail,
        f"{tool} keeps it ({detail}), and only {tool} knows how it was started",
        f"{tool} stop -t 60 {shown} && {tool} run ... (as before, with the changed arguments)",
    )


def _service(facts: Facts, process: ProcessFacts) -> Keeper | None:
    names = [name for name in _SERVICE.findall(process.cgroup) if not _PASSING_SERVICES.fullmatch(name)]
    if not names:
        return None
    unit = names[-1]
    restart = _unit_restart(facts, unit)
    user = " --user" if "/user@" in process.cgroup else ""
    return _kept(
        "systemd",
        unit + (f", Restart={restart}" if restart else ""),
        f"systemd keeps it ({unit}) and starts it with the unit's own line",
        f"systemctl{user} edit --full {unit} (change the arguments), then systemctl{user} restart {unit}",
    )


def _slurm(process: ProcessFacts) -> Keeper | None:
    match = _SLURM.search(process.cgroup) if "slurm" in process.cgroup else None
    job = match["job"] if match is not None else process.env.get("SLURM_JOB_ID")
    if job is None and "SLURM_JOB_ID" not in process.env_names:
        return None
    return _kept(
        "slurm",
        f"job {job}" if job else "a job",
        "it runs in a Slurm job, whose allocation may end with it",
        f"scancel {job or 'JOB'}, then sbatch the script with the changed arguments",
    )


def keeper_of(facts: Facts, process: ProcessFacts, asked: Mapping[str, str], *, port: int) -> Keeper:
    """Who keeps `process`. Restartable only where nobody but a person's own command line stands behind it."""
    ancestors = list(_ancestors(facts, process))
    found = (
        _container(facts, process, ancestors)
        or _slurm(process)
        or _group(asked)
        or _router(facts, process, port, ancestors)
        or _supervisor(ancestors)
        or _service(facts, process)
    )
    if found is not None:
        return found
    parent = next(iter(ancestors), None)
    shell = (
        f", under {parent.comm} (pid {parent.pid})" if parent is not None and parent.pid != 1 and parent.comm else ""
    )
    return Keeper(kind="plain", detail=f"started by hand{shell}", restartable=True)
