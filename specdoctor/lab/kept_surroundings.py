"""What the processes below a keeper show of it under HOST_PROC: control group, namespaces, parent.

A keeper notes it under its own pid before it starts anything; a process belongs to the nearest such ancestor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specdoctor.lab.lab_state import parent_of, start_ticks, write_atomically

SESSION_CGROUP = "0::/user.slice/user-1000.slice/session-c7.scope\n"
FIRST_INODE = 4026532000


def note_surroundings(state: Path, pid: int, surroundings: Mapping[str, Any]) -> None:
    """`surroundings`: `cgroup` (the whole line), `spaces` (own namespaces), `seed` (tells two of a kind apart),
    `parent` (the pid shown as parent of the first process, when the keeper itself is not shown)."""
    folder = state / "run" / "keeping"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / str(pid), json.dumps({**surroundings, "ticks": start_ticks(pid), "pid": pid}))


def surroundings_of(state: Path, pid: int) -> dict[str, Any]:
    """Those of the nearest ancestor that noted some (or of `pid` itself); a login session's otherwise."""
    each = pid
    while each > 1:
        try:
            found: dict[str, Any] = json.loads((state / "run" / "keeping" / str(each)).read_text(encoding="utf-8"))
            if found["ticks"] == start_ticks(each):
                return found
        except OSError:
            pass
        parent = parent_of(each)
        if parent is None:
            break
        each = parent
    return {"cgroup": SESSION_CGROUP, "spaces": []}


def space_link(surroundings: Mapping[str, Any], name: str) -> str | None:
    """Where `ns/NAME` of such a process leads, when that namespace is its own."""
    if name not in surroundings["spaces"]:
        return None
    seed = int(surroundings.get("seed", 0))
    return f"{name}:[{FIRST_INODE + 16 * (seed % 40000) + surroundings['spaces'].index(name)}]"
