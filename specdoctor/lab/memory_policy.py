"""Memory policies of practice processes: the kernel's own where it has the node, else written down for who looks.

World node `n` stands for the computer's node `n`, so what a program sets by the system call is what the world sees. A
node that the computer does not have can only be remembered: it holds for the process and what it starts.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path

from specdoctor.lab.cpu_shares import format_list
from specdoctor.lab.lab_state import parent_of, start_ticks, write_atomically

MODES = {"prefer": 1, "bind": 2, "interleave": 3, "local": 4}
CALL = {"x86_64": 238, "aarch64": 237}
SHOWN_PAGES = 41_216


def set_policy(state: Path, mode: str, nodes: Iterable[int]) -> None:
    """Give this process (and what it becomes or starts) a policy: a mode of `MODES` over the world's nodes."""
    wanted = set(nodes)
    number, mask = CALL.get(platform.machine()), sum(1 << node for node in wanted)
    if number is not None:
        done = ctypes.CDLL(None).syscall(number, MODES[mode], ctypes.byref(ctypes.c_ulong(mask)), 65)
        if done == 0:
            return
    folder = state / "run" / "policies"
    folder.mkdir(parents=True, exist_ok=True)
    text = f"{mode}:{format_list(wanted)}" if wanted else mode
    own = os.getpid()
    write_atomically(folder / str(own), json.dumps({"ticks": start_ticks(own), "policy": text}))


def remembered_policy(state: Path, pid: int) -> str | None:
    """The policy that was written down for this process or an ancestor."""
    each: int | None = pid
    while each is not None and each > 1:
        try:
            record = json.loads((state / "run" / "policies" / str(each)).read_text(encoding="utf-8"))
            if record["ticks"] == start_ticks(each):
                return str(record["policy"])
        except OSError:
            pass
        each = parent_of(each)
    return None


def policy_of(state: Path, pid: int) -> str:
    """The policy as numa_maps names it: `default`, `bind:0`, `interleave:0-1`."""
    remembered = remembered_policy(state, pid)
    if remembered is not None:
        return remembered
    try:
        text = Path(f"/proc/{pid}/numa_maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "default"
    found = re.findall(r"^[0-9a-f]+ (\S+)", text, re.MULTILINE)
    return max(set(found), key=found.count) if found else "default"


def maps_text(policy: str) -> str:
    """numa_maps of a process whose policy is only remembered."""
    node = re.search(r":(\d+)", policy)
    pages = f"N{node[1] if node else 0}={SHOWN_PAGES} kernelpagesize_kB=4"
    return (
        f"55d0c0a00000 {policy} heap anon={SHOWN_PAGES} dirty={SHOWN_PAGES} {pages}\n"
        f"7ffd1b9e0000 {policy} stack anon=33 dirty=33 N0=33 kernelpagesize_kB=4\n"
    )
