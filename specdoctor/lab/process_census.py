"""Which processes belong to a practice host, and ending them: only those that carry its mark, and their descendants."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from specdoctor.lab.lab_state import ID_VARIABLE, noted_processes

KILL_ROUNDS = 20
ROUND_S = 0.05


def own_processes(state: Path, host_id: str) -> set[int]:
    """Living processes of this host: started with its mark in the environment, recorded by it, or below one of these.

    The mark is a random id made at start, so no process that this host did not start can carry it.
    """
    mark = f"{ID_VARIABLE}={host_id}".encode()
    parents: dict[int, int] = {}
    own = {pid for pid, alive in noted_processes(state) if alive}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        pid = int(entry.name)
        with contextlib.suppress(OSError, ValueError):
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            fields = stat[stat.rindex(")") + 2 :].split()
            if fields[0] in "ZX":
                continue
            parents[pid] = int(fields[1])
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                own.add(pid)
    while True:
        below = {pid for pid, parent in parents.items() if parent in own} - own
        if not below:
            break
        own |= below
    own.discard(os.getpid())
    return own


def end_processes(state: Path, host_id: str) -> set[int]:
    """Kill all of them, repeatedly, until none is left; returns those that would not go."""
    left: set[int] = set()
    for _ in range(KILL_ROUNDS):
        left = own_processes(state, host_id)
        if not left:
            break
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(ROUND_S)
    return left
