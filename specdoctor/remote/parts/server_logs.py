"""Where a server writes its log, and bounded reads of it."""

import os
import re
import time
from typing import Any, Dict, List, Optional, Tuple

from specdoctor.remote.parts.commands import run_command
from specdoctor.remote.parts.procfs import all_pids, link_of, proc_path, text_of

FIRST_CUT = 65536
LOG_FOLDERS = ("", "log", "logs", "sglang", "vllm", "server", "run")
SYSTEM_LOG_FOLDERS = ("/var/log", "/var/log/sglang", "/var/log/vllm")
LOG_MARKS = (b"server_args=", b"sglang.launch_server", b"Decode batch", b"vllm", b"llama_server", b"TensorRT-LLM")
MOST_CANDIDATES = 400
OLDEST_DAYS = 30.0


def log_end(path: str, start: int, limit: int) -> str:
    """At most `limit` bytes of the end of a log, nothing from before `start`; "" when it cannot be read."""
    try:
        size = os.stat(path).st_size
        return read_span(path, max(start, size - limit), limit).decode("utf-8", "replace")
    except OSError:
        return ""


def read_span(path: str, start: int, length: int) -> bytes:
    with open(path, "rb") as stream:
        stream.seek(start)
        return stream.read(length)


def read_log(label: str, path: str, pid: Optional[int], keep: int) -> Dict[str, Any]:
    """Head and tail of a log, at most `keep` bytes each, cut at line ends; the whole file as head if it fits."""
    found: Dict[str, Any] = {"path": label, "pid": pid, "size": 0, "mtime": None, "error": None}
    found.update(head="", tail="", gap_bytes=0)
    try:
        state = os.stat(path)
        found.update(size=state.st_size, mtime=state.st_mtime)
        if state.st_size <= 2 * keep:
            found["head"] = text_of(read_span(path, 0, 2 * keep))
            return found
        head = read_span(path, 0, keep)
        tail = read_span(path, state.st_size - keep, keep)
    except OSError as failure:
        found["error"] = failure.strerror or str(failure)
        return found
    if b"\n" in head[-FIRST_CUT:]:
        head = head[: head.rindex(b"\n") + 1]
    if b"\n" in tail[:FIRST_CUT]:
        tail = tail[tail.index(b"\n") + 1 :]
    size = max(state.st_size, len(head) + len(tail))
    found.update(head=text_of(head), tail=text_of(tail), gap_bytes=size - len(head) - len(tail))
    return found


def _reader_of_pipe(target: str, owner: int) -> List[Tuple[str, str, int]]:
    """Files that the process at the other end of a pipe writes (`... | tee server.log`)."""
    found: List[Tuple[str, str, int]] = []
    for pid in all_pids():
        if pid == owner or link_of(pid, "fd/0") != target:
            continue
        try:
            numbers = os.listdir(proc_path(pid, "fd"))
        except OSError:
            continue
        for number in numbers:
            path = link_of(pid, "fd/" + number) or ""
            if number not in ("0", "2") and path.startswith("/") and os.path.isfile(path):
                found.append((path, proc_path(pid, "fd/" + number), owner))
    return found


def log_places(pid: int, problems: List[str]) -> List[Tuple[str, str, int]]:
    """(name, path to open, pid) of the regular files that standard output and error of a server end in."""
    found: List[Tuple[str, str, int]] = []
    targets = [link_of(pid, "fd/1"), link_of(pid, "fd/2")]
    for number, target in zip((1, 2), targets):
        if target is None or (number == 2 and target == targets[0]):
            continue
        place = proc_path(pid, "fd/%d" % number)
        if target.startswith("/") and os.path.isfile(place):
            found.append((target, place, pid))
        elif target.startswith("pipe:"):
            found += _reader_of_pipe(target, pid)
    if not found and any(targets):
        problems.append("pid %d writes its output to %s, which cannot be read back" % (pid, targets[0] or targets[1]))
    return found


def kept_log(cgroup: str, container: Optional[str], keep: int) -> Optional[Dict[str, Any]]:
    """The log that a keeper holds for a server without a file: docker, podman or the journal.

    docker gives a server's standard error, where engines write, as its own.
    """
    units = [name for name in re.findall(r"/([\w@.:\\-]+\.service)(?=/|$)", cgroup) if not name.startswith("user@")]
    if container:
        tool = "podman" if "libpod" in cgroup else "docker"
        argv = [tool, "logs", "--tail", "20000", container]
    elif units:
        own = ["--user"] if "/user@" in cgroup else []
        argv = ["journalctl", *own, "--no-pager", "--output=cat", "--lines=20000", "--unit=" + units[-1]]
    else:
        return None
    reply = run_command(["sh", "-c", 'exec "$@" 2>&1', "sh", *argv], 6.0, limit=2 * keep)
    if reply["exit_code"] != 0:
        return None
    text = str(reply["stdout"])
    return {"path": " ".join(argv), "pid": None, "size": len(text), "head": text}


def likely_logs(home: str, most: int = 2) -> List[str]:
    """Where no server runs: the newest files that look like a server's log, in the usual folders of this user."""
    folders = [os.path.join(home, name) for name in LOG_FOLDERS] + list(SYSTEM_LOG_FOLDERS)
    candidates: List[Tuple[float, str]] = []
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names[:MOST_CANDIDATES]:
            path = os.path.join(folder, name)
            if not (name.endswith((".log", ".out", ".err")) or name == "nohup.out") or not os.path.isfile(path):
                continue
            changed = os.path.getmtime(path)
            if time.time() - changed < OLDEST_DAYS * 86400:
                candidates.append((changed, path))
    found: List[str] = []
    for _, path in sorted(candidates, reverse=True)[:MOST_CANDIDATES]:
        try:
            start = read_span(path, 0, FIRST_CUT)
        except OSError:
            continue
        if any(mark in start for mark in LOG_MARKS):
            found.append(path)
        if len(found) >= most:
            break
    return found


def log_growth(path: str, start: int, limit: int) -> str:
    """What was written since byte `start`; past `limit` the last part; all of a replaced file."""
    try:
        size = os.path.getsize(path)
        start = start if start <= size else 0
        return text_of(read_span(path, max(start, size - limit), limit))
    except OSError:
        return ""


def log_size(path: Optional[str]) -> int:
    try:
        return os.path.getsize(path) if path else 0
    except OSError:
        return 0
