"""Which processes have to do with an inference engine, and everything /proc shows about them."""

import os
import pwd
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from specdoctor.remote.parts.local_http import values_of
from specdoctor.remote.parts.procfs import (
    LISTEN,
    Socket,
    Stat,
    ancestors_of,
    argv_of,
    environ_of,
    limits_of,
    link_of,
    listeners_of,
    numa_policy,
    proc_path,
    read_text,
    socket_inodes,
    sockets_seen_by,
    started_at,
    status_of,
    tree_of,
)
from specdoctor.remote.parts.redaction import mask_argv, mask_env

ENGINES = (
    ("sglang", r"sglang serve|sglang::|sglang\.(?:launch_server|srt|cli)|sglang/(?:launch_server|cli/main)\.py"),
    ("vllm", r"vllm serve|vllm::|vllm\.entrypoints|vllm\.v1|vllm/entrypoints/"),
    ("llamacpp", r"llama-server|llama serve|llama_cpp\.server"),
    ("trtllm", r"trtllm-serve|tensorrt_llm\.(?:serve|commands)"),
    ("beside", r"sglang_router|sglang-router|vllm-router|sglang\.bench|vllm bench"),
)
DEFAULT_PORTS = {"sglang": 30000, "vllm": 8000, "llamacpp": 8080, "trtllm": 8000}
ONLOOKERS = frozenset(
    "grep egrep rg pgrep pkill tail head less more cat vi vim nvim nano emacs ssh scp rsync git man ps kill".split()
)
WRAPPERS = frozenset(
    """sh bash dash zsh ksh fish env nohup setsid sudo su tmux screen timeout numactl taskset nice chrt ionice srun
    salloc tini dumb-init catchsegv strace gdb perf nsys ncu uv poetry pdm hatch pixi conda mamba micromamba docker
    podman nerdctl kubectl systemd-run script stdbuf flock ray""".split()
)
SHOWN_PREFIXES = (
    "SGLANG_ SGL_ NCCL_ CUDA_ HF_ TORCH PYTORCH_ VLLM_ LLAMA_ GGML_ FLASHINFER_ TRITON_ TRTLLM_ TLLM_ OMP_ MKL_ KMP_ "
    "GLOO_ NVIDIA_ NVSHMEM_ UCX_ MASTER_ TRANSFORMERS_ TOKENIZERS_ SLURM_ RAY_ PMI_ LMCACHE_ MOONCAKE_ DG_ ROCM_ HIP_ "
    "SUPERVISOR_"
).split()
SHOWN_NAMES = frozenset(
    """PATH LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH PYTHONHOME PYTHONUNBUFFERED VIRTUAL_ENV CONDA_PREFIX HOME PWD
    XDG_CACHE_HOME TMPDIR TMUX_PANE STY CONDA_DEFAULT_ENV LOADEDMODULES
    RANK WORLD_SIZE LOCAL_RANK INVOCATION_ID KUBERNETES_SERVICE_HOST container""".split()
)
MOST_PROCESSES = 600
OWN_START_S = 60.0
"""A machine's first process starts within its first minute; a container's first process has no such tie (heuristic)."""
POLICY_BYTES = 1 << 14  # the kernel walks the pages of each mapping that is read
_CONTAINER_ID = re.compile(r"(?:docker[-/]|libpod-|cri-containerd-|crio-|containers/|/)([0-9a-f]{64})(?:\.scope)?")

Server = NamedTuple(
    "Server",
    [("pid", int), ("engine", str), ("argv", List[str]), ("env", Dict[str, str]), ("tree", List[int])],
)


def engine_of(argv: Sequence[str]) -> Optional[str]:
    """The engine that a command line runs, None if it has nothing to do with one (or only looks at one)."""
    if not argv or os.path.basename(argv[0]) in ONLOOKERS:
        return None
    line = " ".join([os.path.basename(argv[0])] + [word if len(word) < 4096 else "" for word in argv[1:]])
    for engine, pattern in ENGINES:
        if re.search(r"(?:^|[\s/;\"'&(])(?:%s)" % pattern, line, re.IGNORECASE):
            return engine
    return None


def is_launcher(argv: Sequence[str]) -> bool:
    """Whether this is the process that was started to serve: no renamed worker, no shell around one."""
    name = os.path.basename(argv[0]) if argv else ""
    return bool(name) and "::" not in name and name not in WRAPPERS and not name.startswith("-")


def find_servers(stats: Dict[int, Stat]) -> List[Server]:
    """Launchers of engines; a child with the same engine's command line belongs to its parent."""
    found: List[Server] = []
    own = set(ancestors_of(os.getpid(), stats)) | {os.getpid()}
    covered: Set[int] = set()
    for pid in sorted(stats, key=lambda each: stats[each].start_ticks):
        argv = argv_of(pid) or []
        engine = engine_of(argv)
        if pid in own or pid in covered or engine is None or engine == "beside" or not is_launcher(argv):
            continue
        tree = tree_of(pid, stats)
        covered.update(tree)
        found.append(Server(pid, engine, argv, environ_of(pid) or {}, tree))
    return found


def relevant_pids(
    stats: Dict[int, Stat], servers: Iterable[Server], others: Iterable[int], problems: List[str]
) -> List[int]:
    """Engine processes, `others` (holders of GPU memory or of an asked port), their ancestors and descendants."""
    own = set(ancestors_of(os.getpid(), stats)) | {os.getpid()}
    wanted = [pid for pid in stats if pid not in own and engine_of(argv_of(pid) or [])]
    wanted += [pid for pid in others if pid in stats]
    found: Dict[int, bool] = {}
    for pid in wanted:
        for related in [pid, *ancestors_of(pid, stats), *tree_of(pid, stats)]:
            found[related] = True
    for server in servers:
        found.update((pid, True) for pid in server.tree)
    chosen = list(found)
    if len(chosen) > MOST_PROCESSES:
        problems.append("%d processes belong to engines; only %d are described" % (len(chosen), MOST_PROCESSES))
    return sorted(chosen[:MOST_PROCESSES])


def http_socket(server: Server, ports: Sequence[int]) -> Optional[Socket]:
    """The socket on which the server answers HTTP: an asked port, its --port, its engine's default, else the lowest."""
    listening = [entry for _, entry in listeners_of(server.tree)]
    if not listening and socket_inodes(server.pid) is None:
        listening = _sockets_of_owner(server.pid)
    own = [int(value) for value in values_of(server.argv, "--port") if value.isdigit()]
    for port in list(own[-1:]) + list(ports) + [DEFAULT_PORTS[server.engine]]:
        for entry in listening:
            if entry.port == port:
                return entry
    readable = socket_inodes(server.pid) is not None
    return min(listening, key=lambda entry: entry.port) if listening and readable else None


def _sockets_of_owner(pid: int) -> List[Socket]:
    """Listening sockets of the process's user, for a process whose descriptors may not be read."""
    uid = int((status_of(pid).get("Uid") or "-1").split()[0])
    return [entry for entry in sockets_seen_by(pid) if entry.state == LISTEN and entry.uid == uid]


def shown_variable(name: str) -> bool:
    return name in SHOWN_NAMES or any(name.startswith(prefix) for prefix in SHOWN_PREFIXES)


def container_of(pid: int, cgroup: str) -> Optional[str]:
    """The container that a process lives in, unless the probe lives in the same one."""
    match = _CONTAINER_ID.search(cgroup)
    mine = _CONTAINER_ID.search(read_text("/proc/self/cgroup") or "")
    if match:
        return None if mine and mine.group(1) == match.group(1) else match.group(1)
    space, own_space = link_of(pid, "ns/pid"), link_of(os.getpid(), "ns/pid")
    if space is None or own_space is None or space == own_space:
        return None
    mounted = re.search(r"containers/([0-9a-f]{64})/", read_text(proc_path(pid, "mountinfo")) or "")
    return mounted.group(1) if mounted else None


def _user_name(uid: Optional[int]) -> Optional[str]:
    if uid is None:
        return None
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def own_container_start(stats: Dict[int, Stat], zero: Optional[float], booted: Optional[float]) -> Optional[float]:
    """When the container began in which this log-in is: its first process is younger than the host's boot."""
    if zero is None or booted is None or 1 not in stats:
        return None
    began = started_at(stats[1], zero)
    return began if began is not None and began - booted > OWN_START_S else None


def _container_start(cgroup: str, stats: Dict[int, Stat], booted: Optional[float]) -> Optional[float]:
    members = [stat for pid, stat in stats.items() if read_text(proc_path(pid, "cgroup")) == cgroup]
    first = min(members, key=lambda stat: stat.start_ticks) if members else None
    return started_at(first, booted) if first else None


def describe_process(
    stat: Stat,
    stats: Dict[int, Stat],
    zero: Optional[float],
    ports: Dict[int, List[int]],
    secrets: Set[str],
    around: Optional[float] = None,
) -> Dict[str, Any]:
    """Everything about one process; what may not be read is listed in `unreadable`.

    `zero` is when ticks began to count, `around` when the container of this log-in itself was started, if it is one.
    """
    pid = stat.pid
    argv, env, status = argv_of(pid), environ_of(pid), status_of(pid)
    cgroup = (read_text(proc_path(pid, "cgroup")) or "").strip()
    links = {name: link_of(pid, place) for name, place in _LINKS}
    unreadable = [name for name, value in [("argv", argv), ("env", env)] if value is None]
    unreadable += [name for name in ("cwd", "exe", "stdout") if links[name] is None]
    uid = int(status["Uid"].split()[0]) if "Uid" in status else None
    container = container_of(pid, cgroup)
    return {
        "pid": pid,
        "ppid": stat.ppid,
        "start_ticks": stat.start_ticks,
        "started_at": started_at(stat, zero),
        "uid": uid,
        "user": _user_name(uid),
        "comm": stat.comm,
        "state": stat.state,
        "argv": mask_argv(argv or [], secrets),
        "env_names": sorted(env or {}),
        "env": mask_env(env or {}, [name for name in env or {} if shown_variable(name)], secrets),
        "cgroup": cgroup,
        "container_id": container,
        "container_started_at": _container_start(cgroup + "\n", stats, zero) if container else around,
        "cpus_allowed": status.get("Cpus_allowed_list"),
        "mems_allowed": status.get("Mems_allowed_list"),
        "numa_policy": numa_policy(pid, POLICY_BYTES) if engine_of(argv or []) else None,
        "nice": stat.nice,
        "umask": status.get("Umask"),
        "limits": limits_of(pid),
        "listen_ports": ports.get(pid, []),
        "unreadable": unreadable,
        **links,
    }


_LINKS: Tuple[Tuple[str, str], ...] = (
    ("cwd", "cwd"),
    ("exe", "exe"),
    ("stdin", "fd/0"),
    ("stdout", "fd/1"),
    ("stderr", "fd/2"),
)


def ports_by_pid(pids: Iterable[int]) -> Dict[int, List[int]]:
    """Listening ports; a socket that parent and child share is the first one's."""
    found: Dict[int, List[int]] = {}
    for pid, entry in listeners_of(pids):
        if entry.port not in found.setdefault(pid, []):
            found[pid].append(entry.port)
    return found
