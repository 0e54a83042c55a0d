"""Keeps a practice server alive in the background as a container's shim or a service manager does.

One record per kept command (`kept/NAME.json`) says what to run and how it stands. Whoever wants it down says so in the
record and signals; the keeper of a start ends when nothing is left to keep. Standard library only: the programs
`docker` and `systemctl` of the host import it and must start fast.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.lab.kept_output import pump_into
from specdoctor.lab.kept_surroundings import note_surroundings
from specdoctor.lab.lab_state import read_world, start_ticks, write_atomically
from specdoctor.lab.proc_view import KEEPER_CGROUP, hide_process, show_process, show_untouchable
from specdoctor.lab.python_library import PACKAGE_ROOT

POLL_S = 0.03
KEPT_UMASK = 0o022
"""What containers and units start with, whatever the umask of the login that asked for it."""
KEEPER_START_S = 10.0
LONG_RUN_S = 10.0
MOST_DELAY_S = 60.0
PR_SET_CHILD_SUBREAPER = 36

Record = dict[str, Any]


def record_path(state: Path, name: str) -> Path:
    return state / "kept" / f"{name}.json"


def read_record(state: Path, name: str) -> Record:
    """What is kept under this name. Raises FileNotFoundError when there is no such thing."""
    record: Record = json.loads(record_path(state, name).read_text(encoding="utf-8"))
    return record


def all_records(state: Path) -> list[Record]:
    """Everything that is kept on this host, oldest first."""
    found = []
    for path in (state / "kept").glob("*.json"):
        try:
            found.append(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
    return sorted(found, key=lambda record: (record["created_at"], record["name"]))


def write_record(state: Path, record: Mapping[str, Any]) -> None:
    """A new record, or an old one replaced."""
    path = record_path(state, record["name"])
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, json.dumps(record))


def change_record(state: Path, name: str, **changes: Any) -> Record:
    """Change some entries while nobody else does. Raises FileNotFoundError when it was removed meanwhile."""
    with (state / "kept" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        record = {**read_record(state, name), **changes}
        write_record(state, record)
    return record


def remove_record(state: Path, name: str) -> None:
    record_path(state, name).unlink(missing_ok=True)


def new_record(
    name: str,
    *,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    policy: str,
    delay_s: float,
    output: str,
    surroundings: Mapping[str, Any],
    **more: Any,
) -> Record:
    """A record of something that does not run yet.

    `output`: `file:PATH` (opened by the command itself), `pipes:PATH` or `socket:PATH` (written by the keeper), or
    `terminal:PATH`, where the keeper types `typed` at the command. `show_child`: the command itself is no practice
    server and needs its place under HOST_PROC. `title` (and `comm`) are the keeper's own, shown if given.
    `policy` is docker's word; `surroundings` is what its processes show under HOST_PROC.
    """
    return {
        "name": name,
        "created_at": time.time(),
        "argv": list(argv),
        "env": dict(env),
        "cwd": cwd,
        "policy": policy,
        "delay_s": delay_s,
        "output": output,
        "surroundings": dict(surroundings),
        "title": "",
        "wanted": "down",
        "keeper": None,
        "pid": None,
        "ticks": None,
        "restarts": 0,
        "exit_code": None,
        "started_at": None,
        "finished_at": None,
        "auto_remove": False,
        **more,
    }


def is_up(record: Mapping[str, Any]) -> bool:
    """Whether its command runs now."""
    return record["pid"] is not None and start_ticks(record["pid"]) == record["ticks"]


def is_kept(record: Mapping[str, Any]) -> bool:
    """Whether a keeper is at work, be it that it waits before a restart."""
    return record["keeper"] is not None and start_ticks(record["keeper"][0]) == record["keeper"][1]


def start_kept(state: Path, name: str) -> Record:
    """Start the command under a keeper of its own; returns when it runs, or has ended again.

    Raises RuntimeError when the keeper does not come up.
    """
    record = change_record(state, name, wanted="up", restarts=0)
    began = time.time()
    program = (
        f"import sys; sys.path[:0] = [{str(PACKAGE_ROOT)!r}]\n"
        f"from specdoctor.lab.keeper import keep\nkeep({str(state)!r}, {name!r})\n"
    )
    process = subprocess.Popen(
        [record["title"] or "keeper"],
        executable=Path(sys.executable).resolve(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**record["env"], "PYTHONHOME": sys.base_prefix},
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(program.encode())
    process.stdin.close()
    deadline = time.monotonic() + KEEPER_START_S
    while True:
        try:
            record = read_record(state, name)
        except FileNotFoundError:
            return record
        if (record["started_at"] or 0.0) >= began:
            return record
        if time.monotonic() > deadline or process.poll() is not None:
            raise RuntimeError(f"the keeper of {name} did not start it")
        time.sleep(POLL_S)


def stop_kept(state: Path, name: str, *, grace_s: float, number: int = signal.SIGTERM, everyone: bool = False) -> None:
    """Ask the kept command to end, kill it after `grace_s`, and return when it is down and stays so.

    `everyone`: its children get the signal too, as a service manager sends it.
    """
    try:
        record = change_record(state, name, wanted="down")
    except FileNotFoundError:
        return
    if is_up(record):
        _signal(record["pid"], number, everyone=everyone)
    deadline = time.monotonic() + grace_s
    while is_kept(record):
        if time.monotonic() > deadline and is_up(record):
            _signal(record["pid"], signal.SIGKILL, everyone=True)
        time.sleep(POLL_S)
        try:
            record = read_record(state, name)
        except FileNotFoundError:
            return


def _signal(pid: int, number: int, *, everyone: bool) -> None:
    for each in [pid, *(descendants(pid) if everyone else [])]:
        try:
            os.kill(each, number)
        except ProcessLookupError:
            continue


def descendants(root: int) -> list[int]:
    """Living children of a process, and theirs."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                text = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            children.setdefault(int(text[text.rindex(")") + 2 :].split()[1]), []).append(int(entry.name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def keep(state_text: str, name: str) -> None:
    """Run the command, again whenever it ends as the policy says, until it is wanted down. The keeper's own program."""
    state, own = Path(state_text), os.getpid()
    os.umask(KEPT_UMASK)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    record = change_record(state, name, keeper=[own, start_ticks(own)])
    note_surroundings(state, own, record["surroundings"])
    if record["title"]:
        cgroup = record["surroundings"].get("keeper_cgroup", KEEPER_CGROUP)
        show_untouchable(state, own, title=record["title"], comm=record.get("comm", ""), cgroup=cgroup)
    delay_s = record["delay_s"]
    while True:
        exit_code, ran_s = _run_once(state, name)
        try:
            record = read_record(state, name)
            if record["wanted"] != "up" or not _again(record, exit_code):
                break
            _wait_wanted(state, name, delay_s)
            delay_s = record["delay_s"] if ran_s > LONG_RUN_S else min(2 * delay_s, MOST_DELAY_S)
            record = read_record(state, name)
            if record["wanted"] != "up":
                break
            change_record(state, name, restarts=record["restarts"] + 1)
        except FileNotFoundError:
            break
    hide_process(state, own)
    if record["auto_remove"]:
        remove_record(state, name)
        Path(record["output"].partition(":")[2]).unlink(missing_ok=True)
    else:
        change_record(state, name, keeper=None, wanted="down")


def _wait_wanted(state: Path, name: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and read_record(state, name)["wanted"] == "up":
        time.sleep(min(POLL_S, seconds))


def _again(record: Mapping[str, Any], exit_code: int) -> bool:
    word, _, most = str(record["policy"]).partition(":")
    if word == "on-failure":
        return exit_code != 0 and (not most or record["restarts"] < int(most))
    return word in ("always", "unless-stopped")


def _run_once(state: Path, name: str) -> tuple[int, float]:
    """One life of the command: its exit code as a shell shows it (128 + signal), and how long it ran."""
    record = read_record(state, name)
    kind, _, path = record["output"].partition(":")
    began = time.time()
    try:
        child, pumps = _spawn(record, kind, Path(path))
    except OSError as error:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        change_record(state, name, started_at=began, finished_at=time.time(), exit_code=code, error=str(error))
        return code, 0.0
    change_record(
        state, name, pid=child.pid, ticks=start_ticks(child.pid), started_at=began, finished_at=None, error=""
    )
    if record.get("show_child"):
        show_process(state, read_world(state), child.pid, title=Path(record["argv"][0]).name)
    code = child.wait()
    _end_the_rest()
    for pump in pumps:
        pump.join(timeout=1.0)
    exit_code = 128 - code if code < 0 else code
    try:
        change_record(state, name, pid=None, ticks=None, finished_at=time.time(), exit_code=exit_code)
    except FileNotFoundError:
        return exit_code, time.time() - began
    return exit_code, time.time() - began


def _end_the_rest() -> None:
    """Nothing outlives the first process of a container or the last of a unit; orphans have become our children."""
    for pid in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0]:
            continue


def _spawn(record: Record, kind: str, path: Path) -> tuple[subprocess.Popen[bytes], list[threading.Thread]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    common: dict[str, Any] = {
        "env": record["env"],
        "cwd": record["cwd"],
        "stdin": subprocess.DEVNULL,
        "start_new_session": True,
    }
    if kind == "file":
        with path.open("ab") as log:
            return subprocess.Popen(record["argv"], stdout=log, stderr=subprocess.STDOUT, **common), []
    if kind == "socket":
        ours, theirs = socket.socketpair()
        with theirs:
            spoken = subprocess.Popen(record["argv"], stdout=theirs.fileno(), stderr=subprocess.STDOUT, **common)
        return spoken, [pump_into(path, ours.makefile("rb"), stream="stdout")]
    if kind == "terminal":
        return _spawn_at_terminal(record, path, common)
    child: subprocess.Popen[bytes] = subprocess.Popen(
        record["argv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **common
    )
    assert child.stdout is not None
    assert child.stderr is not None
    return child, [pump_into(path, child.stdout, stream="stdout"), pump_into(path, child.stderr, stream="stderr")]


def _spawn_at_terminal(
    record: Record, path: Path, common: dict[str, Any]
) -> tuple[subprocess.Popen[bytes], list[threading.Thread]]:
    """A shell at a terminal, at which the record's line is typed."""
    ours, theirs = os.openpty()
    common = {**common, "stdin": theirs, "stdout": theirs, "stderr": theirs}
    child: subprocess.Popen[bytes] = subprocess.Popen(record["argv"], executable=record["program"], **common)
    os.close(theirs)
    os.write(ours, record["typed"].encode() + b"\n")
    return child, [pump_into(path, os.fdopen(ours, "rb", buffering=0), stream="stdout")]
