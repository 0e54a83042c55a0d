"""What /proc and /sys say about processes and sockets. HOST_PROC and HOST_SYS move their roots.

Bytes that are no UTF-8 survive as surrogate escapes, so that a process can be started again with exactly its words.
"""

import os
import re
import socket
import struct
import time
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

PROC = os.environ.get("HOST_PROC") or "/proc"
SYS = os.environ.get("HOST_SYS") or "/sys"
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
LISTEN = "0A"
ESTABLISHED = "01"

Stat = NamedTuple(
    "Stat",
    [
        ("pid", int),
        ("comm", str),
        ("state", str),
        ("ppid", int),
        ("session", int),
        ("nice", int),
        ("start_ticks", int),
    ],
)
Socket = NamedTuple(
    "Socket",
    [("address", str), ("port", int), ("peer", str), ("peer_port", int), ("state", str), ("uid", int), ("inode", str)],
)


def text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def read_bytes(path: str, limit: int = 1 << 22) -> Optional[bytes]:
    """Up to `limit` bytes of a file; None when it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return stream.read(limit)
    except OSError:
        return None


def read_text(path: str, limit: int = 1 << 22) -> Optional[str]:
    raw = read_bytes(path, limit)
    return None if raw is None else text_of(raw)


def first_line(path: str) -> Optional[str]:
    text = read_text(path, 4096)
    return None if text is None else text.split("\n", 1)[0].strip()


def find_program(name: str, path: str) -> Optional[str]:
    """Where a name without a slash leads on a PATH."""
    candidates = (folder + "/" + name for folder in path.split(":") if folder)
    return next((each for each in candidates if os.path.isfile(each) and os.access(each, os.X_OK)), None)


def proc_path(pid: int, name: str) -> str:
    return "%s/%d/%s" % (PROC, pid, name)


def link_of(pid: int, name: str) -> Optional[str]:
    """Target of a link such as cwd, exe, fd/1; None when it cannot be read."""
    try:
        return text_of(os.readlink(proc_path(pid, name).encode("utf-8")))
    except OSError:
        return None


def all_pids() -> List[int]:
    return sorted(int(name) for name in os.listdir(PROC) if name.isdigit())


def read_stat(pid: int) -> Optional[Stat]:
    return _parsed_stat(read_text(proc_path(pid, "stat")))


def own_stat(pid: int) -> Optional[Stat]:
    """A process of our own, which a HOST_PROC that is kept by somebody else may not show yet."""
    return read_stat(pid) or _parsed_stat(read_text("/proc/%d/stat" % pid))


def _parsed_stat(text: Optional[str]) -> Optional[Stat]:
    if not text or ")" not in text:
        return None
    head, tail = text.rsplit(")", 1)
    fields = tail.split()
    return Stat(
        pid=int(head.split("(", 1)[0]),
        comm=head.split("(", 1)[1],
        state=fields[0],
        ppid=int(fields[1]),
        session=int(fields[3]),
        nice=int(fields[16]),
        start_ticks=int(fields[19]),
    )


def alive(pid: int, start_ticks: int) -> bool:
    """Whether the very process that started at `start_ticks` still runs (a zombie does not)."""
    stat = own_stat(pid)
    return stat is not None and stat.start_ticks == start_ticks and stat.state not in ("Z", "X")


def all_stats() -> Dict[int, Stat]:
    found: Dict[int, Stat] = {}
    for pid in all_pids():
        stat = read_stat(pid)
        if stat is not None:
            found[pid] = stat
    return found


def tree_of(pid: int, stats: Dict[int, Stat]) -> List[int]:
    """`pid` and all its descendants, parents first."""
    children: Dict[int, List[int]] = {}
    for stat in stats.values():
        children.setdefault(stat.ppid, []).append(stat.pid)
    found, waiting = [], [pid]
    while waiting:
        current = waiting.pop(0)
        if current not in found:
            found.append(current)
            waiting.extend(children.get(current, []))
    return found


def ancestors_of(pid: int, stats: Dict[int, Stat]) -> List[int]:
    """From the parent up to init."""
    found: List[int] = []
    current = stats.get(pid)
    while current is not None and current.ppid in stats and current.ppid not in found:
        found.append(current.ppid)
        current = stats.get(current.ppid)
    return found


def split_words(raw: bytes) -> List[str]:
    """Words separated by NUL. A process that has written a title over its arguments leaves one word and padding."""
    words = [text_of(word) for word in (raw[:-1] if raw.endswith(b"\0") else raw).split(b"\0")]
    return words[:1] if not any(words[1:]) and len(words) > 2 else words


def argv_of(pid: int) -> Optional[List[str]]:
    """The exact argument list; empty for a kernel thread, None when it cannot be read."""
    raw = read_bytes(proc_path(pid, "cmdline"))
    if raw is None:
        return None
    return split_words(raw) if raw else []


def environ_of(pid: int) -> Optional[Dict[str, str]]:
    """The environment given at exec; None when it cannot be read (another user's process)."""
    raw = read_bytes(proc_path(pid, "environ"))
    if raw is None:
        return None
    pairs = (text_of(entry).partition("=")[::2] for entry in raw.split(b"\0") if b"=" in entry)
    return dict(pairs)


def status_of(pid: int) -> Dict[str, str]:
    lines = (read_text(proc_path(pid, "status")) or "").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def limits_of(pid: int) -> Dict[str, List[str]]:
    """Resource limits by their names in /proc: [soft, hard]."""
    found: Dict[str, List[str]] = {}
    for line in (read_text(proc_path(pid, "limits")) or "").splitlines()[1:]:
        match = re.match(r"(Max [a-z ]*[a-z])\s+(\S+)\s+(\S+)", line)
        if match:
            found[match.group(1)] = [match.group(2), match.group(3)]
    return found


def numa_policy(pid: int, limit: int = 1 << 20) -> Optional[str]:
    """The memory policy that most mappings have (`default`, `bind:0`, `interleave:0-1`); None without NUMA."""
    policies = re.findall(r"^[0-9a-f]+ (\S+) ", read_text(proc_path(pid, "numa_maps"), limit) or "", re.MULTILINE)
    return max(set(policies), key=policies.count) if policies else None


def boot_time() -> Optional[float]:
    match = re.search(r"^btime (\d+)", read_text(PROC + "/stat") or "", re.MULTILINE)
    return float(match.group(1)) if match else None


def tick_zero() -> Optional[float]:
    """When the clock ticks of start times began to count: the boot, unless the uptime speaks of another moment."""
    booted, uptime = boot_time(), (first_line(PROC + "/uptime") or "").split()
    counted = round(time.time() - float(uptime[0])) if uptime else None
    return booted if booted is None or counted is None or abs(counted - booted) < 5.0 else float(counted)


def started_at(stat: Stat, booted: Optional[float]) -> Optional[float]:
    return None if booted is None else booted + stat.start_ticks / float(CLOCK_TICKS)


def socket_inodes(pid: int) -> Optional[Set[str]]:
    """Inodes of the sockets that a process holds; None when its descriptors cannot be read."""
    try:
        numbers = os.listdir(proc_path(pid, "fd"))
    except OSError:
        return None
    targets = (link_of(pid, "fd/" + number) or "" for number in numbers)
    return {target[8:-1] for target in targets if target.startswith("socket:[")}


def _address(raw: str) -> Tuple[str, int]:
    host, port = raw.split(":")
    packed = bytes.fromhex(host)
    words = struct.unpack("=%dI" % (len(packed) // 4), packed)
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, struct.pack(">%dI" % len(words), *words)), int(port, 16)


def sockets_seen_by(pid: int) -> List[Socket]:
    """The TCP sockets of the network namespace that `pid` lives in."""
    found: List[Socket] = []
    for table in ("net/tcp", "net/tcp6"):
        text = read_text(proc_path(pid, table), 1 << 24) or read_text(PROC + "/" + table, 1 << 24) or ""
        for line in text.splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9:
                address, port = _address(fields[1])
                peer, peer_port = _address(fields[2])
                found.append(Socket(address, port, peer, peer_port, fields[3], int(fields[7]), fields[9]))
    return found


def listeners_of(pids: Iterable[int]) -> List[Tuple[int, Socket]]:
    """Listening sockets of these processes, each with the first process of the list that holds it."""
    found: List[Tuple[int, Socket]] = []
    tables: Dict[Optional[str], List[Socket]] = {}
    seen: Set[str] = set()
    for pid in pids:
        inodes = socket_inodes(pid)
        if not inodes:
            continue
        space = link_of(pid, "ns/net")
        if space not in tables:
            tables[space] = [entry for entry in sockets_seen_by(pid) if entry.state == LISTEN]
        for entry in tables[space]:
            if entry.inode in inodes and entry.inode not in seen:
                seen.add(entry.inode)
                found.append((pid, entry))
    return found


def clash(one: str, other: str) -> bool:
    """Whether two sockets of one port on these addresses are in each other's way."""
    one, other = (each[7:] if each.startswith("::ffff:") else each for each in (one, other))
    if "::" in (one, other):
        return True  # takes the addresses of both families, as a rule
    if (":" in one) != (":" in other):
        return False
    return one == other or "0.0.0.0" in (one, other)


def _in_the_way(port: int, addresses: Sequence[str]) -> List[Socket]:
    table = [entry for entry in sockets_seen_by(os.getpid()) if entry.state == LISTEN and entry.port == port]
    return [entry for entry in table if not addresses or any(clash(entry.address, each) for each in addresses)]


def port_is_held(port: int, addresses: Sequence[str] = ()) -> bool:
    """Whether anybody listens on `port` in our network namespace, in the way of these addresses (none: of any)."""
    return bool(_in_the_way(port, addresses))


def holders_of_port(port: int, stats: Dict[int, Stat], addresses: Sequence[str] = ()) -> List[int]:
    """Processes that listen on `port` (of those whose descriptors can be read), in the way of these addresses."""
    inodes = {entry.inode for entry in _in_the_way(port, addresses)}
    if not inodes:
        return []
    return [pid for pid in stats if (socket_inodes(pid) or set()).intersection(inodes)]


def own_listeners(pids: Iterable[int], port: int) -> List[Socket]:
    """Where these processes listen on `port`, as far as they are in our network namespace."""
    space = link_of(os.getpid(), "ns/net")
    found = listeners_of(pids)
    return [entry for pid, entry in found if entry.port == port and (link_of(pid, "ns/net") or space) == space]


def listens_beside(pids: Sequence[int], port: int) -> List[Socket]:
    """Sockets of others on the same port and address as these processes have, which share what comes in."""
    own = own_listeners(pids, port)
    inodes = {inode for pid in pids for inode in socket_inodes(pid) or ()}
    return [entry for entry in _in_the_way(port, [each.address for each in own]) if own and entry.inode not in inodes]
