"""The record from which a stopped server can be started again exactly as it was, and the proof that it was."""

import os
import re
import time
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.procfs import (
    PROC,
    Stat,
    alive,
    all_stats,
    argv_of,
    environ_of,
    find_program,
    first_line,
    limits_of,
    link_of,
    listeners_of,
    numa_policy,
    own_listeners,
    proc_path,
    read_stat,
    read_text,
    status_of,
    tree_of,
)
from specdoctor.remote.parts.redaction import mask_argv, mask_env, mask_text, spellings
from specdoctor.remote.parts.server_logs import log_places

SPACES = ("mnt", "pid", "net", "user")
COMPARED = "argv env cwd exe uid gid groups affinity limits nice umask oom_score_adj numa_policy".split()


def boot_id() -> str:
    return first_line(PROC + "/sys/kernel/random/boot_id") or ""


def ignored_signals(status: Dict[str, str]) -> List[int]:
    """Signals that the process ignores (a server started with nohup ignores SIGHUP)."""
    mask = int(status.get("SigIgn") or "0", 16)
    return [number for number in range(1, 65) if mask >> (number - 1) & 1]


def describe_descriptor(pid: int, number: int) -> Dict[str, Any]:
    """Where a standard stream leads: {"target", "append", "kind"}."""
    target = link_of(pid, "fd/%d" % number)
    flags = re.search(r"^flags:\s*([0-7]+)", read_text(proc_path(pid, "fdinfo/%d" % number)) or "", re.MULTILINE)
    kind = "none"
    if target is not None:
        kind = "file" if target.startswith("/") else target.split(":", 1)[0]
        kind = "device" if target.startswith("/dev/") else kind
        kind = "deleted" if target.endswith(" (deleted)") else kind
    append = bool(flags and int(flags.group(1), 8) & os.O_APPEND)
    return {"target": target, "append": append, "kind": kind}


def surroundings(stat: Stat) -> Dict[str, Any]:
    """What has to be equal after a restart, as /proc shows it now. A part that cannot be read is None."""
    pid = stat.pid
    status = status_of(pid)
    uid, gid = status.get("Uid", "").split(), status.get("Gid", "").split()
    score = first_line(proc_path(pid, "oom_score_adj"))
    return {
        "argv": argv_of(pid),
        "env": environ_of(pid),
        "cwd": link_of(pid, "cwd"),
        "exe": link_of(pid, "exe"),
        "uid": int(uid[0]) if uid else None,
        "gid": int(gid[0]) if gid else None,
        "groups": sorted(int(each) for each in status.get("Groups", "").split()),
        "affinity": status.get("Cpus_allowed_list"),
        "limits": limits_of(pid),
        "nice": stat.nice,
        "umask": status.get("Umask"),
        "oom_score_adj": int(score) if score else None,
        "numa_policy": numa_policy(pid),
    }


def record_server(run: str, server: Dict[str, int]) -> Dict[str, Any]:
    """The whole way back of a proved server."""
    pid = int(server["pid"])
    stat = read_stat(pid)
    if stat is None:
        raise Refusal("gone", "process %d has ended" % pid)
    status = status_of(pid)
    problems: List[str] = []
    own = own_listeners(tree_of(pid, all_stats()), int(server["port"]))
    return dict(
        surroundings(stat),
        version=1,
        run=run,
        recorded_at=time.time(),
        boot_id=boot_id(),
        server=server,
        addresses=sorted({entry.address for entry in own}),
        ignored_signals=ignored_signals(status),
        mems_allowed=status.get("Mems_allowed_list"),
        cgroup=(read_text(proc_path(pid, "cgroup")) or "").strip(),
        streams={str(number): describe_descriptor(pid, number) for number in (0, 1, 2)},
        log_files=[label for label, _, _ in log_places(pid, problems)],
        foreign_spaces=[name for name in SPACES if link_of(pid, "ns/" + name) != link_of(os.getpid(), "ns/" + name)],
    )


def executable_of(record: Dict[str, Any]) -> Optional[str]:
    """The path that was executed: the first word where it leads to the recorded exe (a venv), else the exe itself."""
    words, exe = record["argv"] or [""], str(record["exe"] or "")
    replaced = exe.endswith(" (deleted)")
    word = words[0]
    candidate = word if word.startswith("/") else os.path.join(record["cwd"] or "/", word) if "/" in word else None
    if candidate is None:
        candidate = find_program(word, (record["env"] or {}).get("PATH", os.defpath)) if word else None
    if candidate and os.access(candidate, os.X_OK) and (replaced or os.path.realpath(candidate) == exe):
        return candidate
    return exe if exe and not replaced and os.access(exe, os.X_OK) else None


def program_of(record: Dict[str, Any], argv: Sequence[str]) -> Optional[str]:
    """The path to execute for a command line: the recorded program, unless the first word was replaced."""
    word = argv[0] if argv else ""
    if word == (record["argv"] or [""])[0]:
        return executable_of(record)
    path = word if "/" in word else find_program(word, (record["env"] or {}).get("PATH", os.defpath))
    return path if path and os.path.isfile(path) and os.access(path, os.X_OK) else None


def unreadable_parts(record: Dict[str, Any]) -> List[str]:
    """What this login may not read of the server, so that nobody could tell whether it came back as it was."""
    return ["its %s cannot be read" % part for part in ("argv", "env", "cwd", "exe", "uid") if record[part] is None]


def obstacles(record: Dict[str, Any]) -> List[str]:
    """Why this server could not be brought back as it was; empty when nothing stands in the way."""
    found = unreadable_parts(record)
    if found:
        return found
    root = os.geteuid() == 0
    if record["foreign_spaces"]:
        found.append("it lives in other namespaces (%s): a container" % ", ".join(record["foreign_spaces"]))
    if not root and record["uid"] != os.geteuid():
        found.append("it runs as uid %s and this login is uid %d" % (record["uid"], os.geteuid()))
    if executable_of(record) is None:
        found.append("its program %s cannot be executed again" % record["exe"])
    elif len(record["argv"]) < 2:
        found.append("its arguments are gone: the process has written a title over them")
    if not os.path.isdir(record["cwd"]):
        found.append("its working directory %s is gone" % record["cwd"])
    if not root:
        found += _out_of_reach(record)
    for number in ("1", "2"):
        stream = record["streams"][number]
        if stream["kind"] == "file" and not os.access(stream["target"], os.W_OK):
            found.append("its log %s cannot be written" % stream["target"])
    return found


def _out_of_reach(record: Dict[str, Any]) -> List[str]:
    """Limits above those of this login, which only root can give."""
    own = limits_of(os.getpid())
    found: List[str] = []
    for name, (_, hard) in sorted(record["limits"].items()):
        ours = own.get(name, ["", "unlimited"])[1]
        if ours != "unlimited" and (hard == "unlimited" or int(hard) > int(ours)):
            found.append("its hard limit %r is %s and this login's is %s" % (name, hard, ours))
    if record["nice"] < os.getpriority(os.PRIO_PROCESS, 0):
        found.append("it runs at nice %d, which this login cannot give" % record["nice"])
    return found


def prove(server: Dict[str, int], expected_argv: Optional[Sequence[str]], listening: bool = True) -> None:
    """Raises Refusal unless this pid started at these ticks, holds the port in its tree, and has the same words.

    `listening` is left out for a process that was proved before, or that this run has started itself.
    """
    pid, port = int(server["pid"]), int(server["port"])
    stats = all_stats()
    stat = stats.get(pid)
    if stat is None or not alive(pid, int(server["start_ticks"])):
        now = "there is no such process" if stat is None else "pid %d is another process now" % pid
        raise Refusal("not-the-server", "pid %d is not the server that was seen: %s" % (pid, now), "look again")
    if listening and port not in [entry.port for _, entry in listeners_of(tree_of(pid, stats))]:
        raise Refusal("not-the-server", "port %d does not belong to pid %d or its children" % (port, pid), "look again")
    if expected_argv is not None and argv_of(pid) != list(expected_argv):
        raise Refusal("not-the-server", "the arguments of pid %d have changed since they were recorded" % pid)


def secrets_of(record: Dict[str, Any]) -> Tuple[str, ...]:
    """Spellings of the secrets in the recorded arguments and environment, to be masked in whatever is returned."""
    secrets: Set[str] = set(record.get("secrets") or [])
    mask_argv(record["argv"] or [], secrets)
    mask_env(record["env"] or {}, (), secrets)
    return spellings(secrets)


def _difference(part: str, before: Any, after: Any) -> str:
    """What differs, without values that may be secret."""
    if part == "env":
        names = sorted(set(before or {}) | set(after or {}))
        changed = [name for name in names if (before or {}).get(name) != (after or {}).get(name)]
        return "variables that differ: " + ", ".join(changed)
    if part == "argv":
        return "was %s; is %s" % (" ".join(mask_argv(before or [], set())), " ".join(mask_argv(after or [], set())))
    if part == "limits":
        names = sorted(name for name in set(before) | set(after) if before.get(name) != after.get(name))
        return "; ".join("%s was %s, is %s" % (name, before.get(name), after.get(name)) for name in names)
    return "was %s; is %s" % (before, after)


KEPT_STREAMS = ("pipe", "socket")


def compare_kept(record: Dict[str, Any], pid: int, notes: Dict[str, str]) -> Tuple[Dict[str, bool], Dict[str, str]]:
    """As `compare`, for a server whose keeper makes its streams anew, and numbers each start in its environment."""
    equal, differences = compare(record, pid, notes)
    for number, name in (("0", "stdin"), ("1", "stdout"), ("2", "stderr")):
        before, now = record["streams"][number], describe_descriptor(pid, int(number))
        if before["kind"] == now["kind"] and before["kind"] in KEPT_STREAMS:
            equal[name] = True
            differences.pop(name, None)
    if equal.get("env") is False:
        before_env, now_env = record["env"], environ_of(pid) or {}
        names = set(before_env) | set(now_env)
        if all(before_env.get(each) == now_env.get(each) for each in names if each not in record["volatile"]):
            equal["env"] = True
            differences.pop("env", None)
    return equal, differences


def compare(record: Dict[str, Any], pid: int, notes: Dict[str, str]) -> Tuple[Dict[str, bool], Dict[str, str]]:
    """The restarted process against the record: (equal by part, differences). `notes` explain streams."""
    stat = read_stat(pid)
    if stat is None:
        return {"process": False}, {"process": "process %d has ended" % pid}
    now = surroundings(stat)
    equal: Dict[str, bool] = {}
    differences: Dict[str, str] = {}
    known = secrets_of(record)
    for part in COMPARED:
        if record[part] is None:
            continue
        equal[part] = record[part] == now[part]
        if not equal[part]:
            differences[part] = mask_text(_difference(part, record[part], now[part]), known)
    for number, name in (("0", "stdin"), ("1", "stdout"), ("2", "stderr")):
        stream = record["streams"][number]
        same = stream["target"] == link_of(pid, "fd/" + number)
        if name != "stdin" or same or stream["kind"] in ("file", "device"):
            equal[name] = same
        if not same:
            differences[name] = notes.get(name) or "was %s; is %s" % (stream["target"], link_of(pid, "fd/" + number))
    cgroup = (read_text(proc_path(pid, "cgroup")) or "").strip()
    if cgroup != record["cgroup"]:
        differences["cgroup"] = "was %s; is %s" % (record["cgroup"], cgroup)
    return equal, differences
