"""What is left of a server's past: logs beside its present one, rotated or of earlier starts, and boots of the host."""

import glob
import gzip
import os
import struct
from typing import Any, Dict, List, Optional, Set, Tuple

from specdoctor.remote.parts.interpreter_packages import root_of
from specdoctor.remote.parts.procfs import text_of
from specdoctor.remote.parts.server_logs import FIRST_CUT, LOG_MARKS, MOST_CANDIDATES

VAR = os.environ.get("HOST_VAR") or "/var"
MOST_OLDER = 8
TAIL_BYTES = 262144
MOST_UNPACKED = 1 << 26
LOG_ENDINGS = (".log", ".out", ".err", ".txt", ".old")
UTMP = struct.Struct("<h2xi32s4s32s256shhiii16s20s")
BOOT = 2
MOST_BOOTS = 50


def _is_log_name(name: str, present: str) -> bool:
    """Whether a file may be an older log: a rotation of the present one, or another log by its ending."""
    bare = name[:-3] if name.endswith(".gz") else name
    return bare.startswith((present, present.rsplit(".", 1)[0])) or bare.endswith(LOG_ENDINGS)


def _identity(path: str) -> Optional[Tuple[int, int]]:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _ends(path: str) -> Tuple[bytes, bytes, int]:
    """The first and the last bytes of a log, and how many lie between; of a packed one as it was before."""
    if not path.endswith(".gz"):
        with open(path, "rb") as plain:
            size = os.fstat(plain.fileno()).st_size
            head = plain.read(FIRST_CUT)
            plain.seek(max(len(head), size - TAIL_BYTES))
            tail = plain.read(TAIL_BYTES)
        return head, tail, max(size - len(head) - len(tail), 0)
    with gzip.open(path, "rb") as packed:
        head, tail, seen = packed.read(FIRST_CUT), b"", 0
        while seen < MOST_UNPACKED:
            piece = packed.read(1 << 20)
            if not piece:
                break
            seen += len(piece)
            tail = (tail + piece)[-TAIL_BYTES:]
    return head, tail, max(seen - len(tail), 0)


def _older_log(label: str, path: str) -> Optional[Dict[str, Any]]:
    """Head and tail of an older log, cut at line ends; None where it is no server's or cannot be read."""
    try:
        state = os.stat(path)
        head, tail, gap = _ends(path)
    except (OSError, EOFError, ValueError):
        return None
    if not any(mark in head for mark in LOG_MARKS):
        return None
    if gap:
        head = head[: head.rfind(b"\n") + 1]
        tail = tail[tail.find(b"\n") + 1 :]
    found: Dict[str, Any] = {"path": label, "pid": None, "size": state.st_size, "mtime": state.st_mtime, "error": None}
    if gap:
        found.update(head=text_of(head), tail=text_of(tail), gap_bytes=gap)
    else:
        found.update(head=text_of(head + tail), tail="", gap_bytes=0)
    return found


def older_logs(places: List[Tuple[str, str, int]]) -> List[Dict[str, Any]]:
    """The newest older logs in the folders of present ones, given as (name, path to open, pid)."""
    present: Set[Optional[Tuple[int, int]]] = {_identity(path) for _, path, _ in places}
    candidates: Dict[Tuple[int, int], Tuple[float, str, str]] = {}
    for label, _, pid in places:
        root, folder = root_of(pid), os.path.dirname(label)
        try:
            names = os.listdir(root + folder)
        except OSError:
            continue
        for name in sorted(names)[: 4 * MOST_CANDIDATES]:
            path = root + folder + "/" + name
            known = _identity(path)
            if known is None or known in present or not os.path.isfile(path):
                continue
            if _is_log_name(name, os.path.basename(label)):
                candidates.setdefault(known, (os.path.getmtime(path), folder + "/" + name, path))
    found: List[Dict[str, Any]] = []
    for _, label, path in sorted(candidates.values(), reverse=True)[:MOST_CANDIDATES]:
        log = _older_log(label, path)
        found += [log] if log is not None else []
        if len(found) >= MOST_OLDER:
            break
    return found


def boots() -> List[float]:
    """Boots of the host that its log-in records still hold, the oldest first; seconds since the epoch."""
    found: Set[float] = set()
    for path in glob.glob(VAR + "/log/wtmp*"):
        try:
            with open(path, "rb") as stream:
                raw = stream.read(1 << 24)
        except OSError:
            continue
        if len(raw) % UTMP.size:  # another machine's layout, or packed
            continue
        for place in range(0, len(raw), UTMP.size):
            record = UTMP.unpack_from(raw, place)
            if record[0] == BOOT and record[9] > 0:
                found.add(float(record[9]))
    return sorted(found)[-MOST_BOOTS:]
