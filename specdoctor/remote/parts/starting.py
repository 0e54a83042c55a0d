"""Starting a server in recorded surroundings: same program, words, environment, folder, limits, priority, streams."""

import contextlib
import os
import re
import resource
import signal
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.procfs import link_of, numa_policy, own_stat, status_of
from specdoctor.remote.parts.way_back import program_of

LIMIT_NUMBERS = {
    "Max cpu time": 0,
    "Max file size": 1,
    "Max data size": 2,
    "Max stack size": 3,
    "Max core file size": 4,
    "Max resident set": 5,
    "Max processes": 6,
    "Max open files": 7,
    "Max locked memory": 8,
    "Max address space": 9,
    "Max file locks": 10,
    "Max pending signals": 11,
    "Max msgqueue size": 12,
    "Max nice priority": 13,
    "Max realtime priority": 14,
    "Max realtime timeout": 15,
}
SET_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
POLICY_MODES = {"default": 0, "prefer": 1, "preferred": 1, "bind": 2, "interleave": 3, "local": 4}
SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}
Streams = Tuple[int, int, int]


def numbers_in(spans: str) -> List[int]:
    """ "0-2,7" as [0, 1, 2, 7]."""
    found: List[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", spans):
        found += range(int(first), int(last or first) + 1)
    return found


def _number(limit: str) -> int:
    return resource.RLIM_INFINITY if limit == "unlimited" else int(limit)


def _set_limits(limits: Dict[str, List[str]]) -> None:
    for name, (soft, hard) in limits.items():
        number = LIMIT_NUMBERS.get(name)
        if number is not None and resource.getrlimit(number) != (_number(soft), _number(hard)):
            resource.setrlimit(number, (_number(soft), _number(hard)))


def _set_policy(policy: Optional[str]) -> None:
    """The memory policy of numactl, by the system call itself; nodes beyond 63 are left alone."""
    match = re.match(r"^(\w+)(?:=\w+)?(?::([\d,-]+))?$", policy or "default")
    number = SET_MEMPOLICY.get(os.uname().machine)
    if match is None or match.group(1) not in POLICY_MODES or number is None:
        return
    if (policy or "default") == (numa_policy(os.getpid()) or "default"):
        return
    import ctypes

    mask = sum(1 << node for node in numbers_in(match.group(2) or "") if node < 64)
    ctypes.CDLL(None).syscall(number, POLICY_MODES[match.group(1)], ctypes.byref(ctypes.c_ulong(mask)), 65)


def _join_cgroup(cgroup: str) -> None:
    """Into the control group of the original, where this login may (cgroup v2)."""
    match = re.search(r"^0::(/.*)$", cgroup, re.MULTILINE)
    if match and match.group(1) != "/":
        with open("/sys/fs/cgroup%s/cgroup.procs" % match.group(1), "w") as stream:
            stream.write(str(os.getpid()))


def _set_oom_score(score: Optional[int]) -> None:
    if score is not None:
        with open("/proc/self/oom_score_adj", "r+") as stream:
            if stream.read().strip() != str(score):
                stream.seek(0)
                stream.write(str(score))


def _set_affinity(spans: Optional[str]) -> None:
    if spans and status_of(os.getpid()).get("Cpus_allowed_list") != spans:
        os.sched_setaffinity(0, numbers_in(spans))


def _set_nice(nice: int) -> None:
    if os.getpriority(os.PRIO_PROCESS, 0) != nice:
        os.setpriority(os.PRIO_PROCESS, 0, nice)


def _best_effort(record: Dict[str, Any]) -> None:
    """Parts that may be refused: the comparison afterwards tells which did not come out equal."""
    steps: List[Callable[[], None]] = [
        lambda: _join_cgroup(record["cgroup"]),
        lambda: _set_oom_score(record["oom_score_adj"]),
        lambda: _set_limits(record["limits"]),
        lambda: _set_nice(record["nice"]),
        lambda: _set_affinity(record["affinity"]),
        lambda: _set_policy(record["numa_policy"]),
    ]
    for step in steps:
        with contextlib.suppress(OSError, ValueError, ImportError, AttributeError):
            step()


def _set_signals(ignored: Sequence[int]) -> None:
    """Exactly what the original ignored is ignored, whatever the process that starts it has set for itself."""
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            wanted = number in ignored and number not in SET_BY_PYTHON
            signal.signal(number, signal.SIG_IGN if wanted else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _become(record: Dict[str, Any]) -> None:
    """The user and groups of the original; only root needs and can do this."""
    if os.geteuid() != 0:
        return
    if sorted(os.getgroups()) != record["groups"]:
        os.setgroups(record["groups"])
    if os.getgid() != record["gid"]:
        os.setgid(record["gid"])
    if os.getuid() != record["uid"]:
        os.setuid(record["uid"])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _child(record: Dict[str, Any], path: str, argv: Sequence[str], env: Dict[str, str], streams: Streams) -> None:
    os.setsid()
    _best_effort(record)
    _become(record)
    os.umask(int(record["umask"] or "022", 8))
    os.chdir(_bytes(record["cwd"]))
    _set_signals(record["ignored_signals"])
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    os.execve(_bytes(path), [_bytes(word) for word in argv], {_bytes(k): _bytes(v) for k, v in env.items()})


class Prepared:
    """A forked process that waits for the word before it becomes the server.

    So its pid can be written down first: a crash in between leaves no server that nobody knows of.
    """

    def __init__(self, record: Dict[str, Any], argv: Sequence[str], env: Dict[str, str], streams: Streams) -> None:
        path = program_of(record, argv)
        if path is None:
            program = record["exe"] if argv[:1] == (record["argv"] or [])[:1] else argv[0]
            raise Refusal("not-startable", "the program %s cannot be executed" % program)
        gate, self._gate = os.pipe()
        self._report, report = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._gate)
                os.close(self._report)
                if os.read(gate, 1) == b"g":
                    _child(record, path, argv, env, streams)
            except Exception as failure:  # noqa: BLE001  whatever it was, it is told
                os.write(report, str(failure).encode("utf-8", "replace"))
            finally:
                os._exit(127)
        os.close(gate)
        os.close(report)
        for descriptor in set(streams):
            os.close(descriptor)
        stat = own_stat(self.pid)
        self.start_ticks = stat.start_ticks if stat else 0

    def go(self) -> None:
        """Let it become the server. Raises Refusal when it could not."""
        os.write(self._gate, b"g")
        os.close(self._gate)
        report = b""
        while True:
            piece = os.read(self._report, 4096)
            if not piece:
                break
            report += piece
        os.close(self._report)
        if report:
            problem = report.decode("utf-8", "replace")
            raise Refusal("not-started", "the program could not be executed: " + problem)


def _open_append(path: str, mode: int = 0o644) -> Optional[int]:
    try:
        return os.open(_bytes(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOCTTY, mode)
    except OSError:
        return None


def private_log(path: str) -> int:
    """A log of ours, appended to; where the host takes no file, what would be written there is dropped."""
    descriptor = _open_append(path, 0o600)
    return os.open(os.devnull, os.O_WRONLY) if descriptor is None else descriptor


def own_log_streams(path: str) -> Streams:
    """Nothing to read; output and errors into one private log."""
    log = private_log(path)
    return os.open(os.devnull, os.O_RDONLY), log, log


def original_streams(record: Dict[str, Any], beside: str) -> Tuple[Streams, Dict[str, str], List[str]]:
    """The recorded redirections, appended to; what cannot be opened again goes to a file: (streams, notes, logs)."""
    notes: Dict[str, str] = {}
    recorded = record["streams"]
    opened: Dict[str, int] = {}
    source = recorded["0"]["target"] if recorded["0"]["kind"] in ("file", "device") else os.devnull
    try:
        stdin = os.open(_bytes(source), os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        stdin = os.open(os.devnull, os.O_RDONLY)
    for number, name in (("1", "stdout"), ("2", "stderr")):
        target = str(recorded[number]["target"])
        if target not in opened:
            path = target if recorded[number]["kind"] in ("file", "device") else (record["log_files"] or [beside])[0]
            path = target[: -len(" (deleted)")] if recorded[number]["kind"] == "deleted" else path
            descriptor = _open_append(path)
            if descriptor is None:
                descriptor = private_log(beside)
                path = link_of(os.getpid(), "fd/%d" % descriptor) or beside
            opened[target] = descriptor
            if path != target:
                notes[name] = "was %s, which cannot be opened again; now appended to %s" % (target, path)
        elif "stdout" in notes:
            notes[name] = notes["stdout"]
    streams = (stdin, opened[str(recorded["1"]["target"])], opened[str(recorded["2"]["target"])])
    places = [link_of(os.getpid(), "fd/%d" % descriptor) or "" for descriptor in streams[1:]]
    return streams, notes, [path for path in dict.fromkeys(places) if os.path.isfile(path)]
