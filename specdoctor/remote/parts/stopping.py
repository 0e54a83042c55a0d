"""Stopping one proved server and waiting until the port and the GPU memory that it held are free."""

import os
import signal
import time
from typing import Any, Callable, Dict, List, Sequence, Set

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.commands import gpu_holders, gpu_memory_used, query_gpu_apps
from specdoctor.remote.parts.procfs import alive, all_stats, holders_of_port, port_is_held, tree_of

KILL_WAIT_S = 30.0
STOP_STEP_S = 0.1


def _living(members: Dict[int, int]) -> List[int]:
    return [pid for pid, ticks in members.items() if alive(pid, ticks)]


def _grow(members: Dict[int, int], root: int) -> None:
    """Add the children that living members have had meanwhile, and orphans of a session that the root leads."""
    stats = all_stats()
    for stat in stats.values():
        if stat.session == root and stat.start_ticks >= members[root]:
            members.setdefault(stat.pid, stat.start_ticks)
    for parent in _living(members):
        for pid in tree_of(parent, stats):
            if pid in stats:
                members.setdefault(pid, stats[pid].start_ticks)


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError as failure:
        raise Refusal("not-allowed", "this login may not send a signal to process %d" % pid) from failure


def stop_tree(pid: int, start_ticks: int, timeout_s: float) -> Set[int]:
    """SIGTERM to the launcher alone; after `timeout_s` SIGKILL to what is left of its tree. The pids it had.

    Each process is proved by pid and start time before each signal; nothing is ever chosen by name.
    """
    members = {pid: start_ticks}
    _grow(members, pid)
    if alive(pid, start_ticks):
        _send(pid, signal.SIGTERM)
    deadline = time.monotonic() + timeout_s
    while _living(members) and time.monotonic() < deadline:
        time.sleep(STOP_STEP_S)
        _grow(members, pid)
    end = time.monotonic() + KILL_WAIT_S
    while _living(members) and time.monotonic() < end:
        for each in _living(members):
            _send(each, signal.SIGKILL)
        time.sleep(STOP_STEP_S)
        _grow(members, pid)
    left = _living(members)
    if left:
        raise Refusal("not-stopped", "processes %s do not end, not even when killed" % left, "see dmesg on the host")
    return set(members)


def memory_before(pids: Set[int]) -> Dict[str, Any]:
    """GPU memory in use before a stop, and how much of it these processes hold."""
    held = gpu_holders(query_gpu_apps())
    return {"used": gpu_memory_used(), "held": sum(mib for pid, mib in held.items() if pid in pids)}


def wait_until_free(
    port: int,
    pids: Set[int],
    before: Dict[str, Any],
    settle_mb: int,
    timeout_s: float,
    note: Callable[[str], None],
    in_vain: Callable[[], bool],
    addresses: Sequence[str] = (),
) -> str:
    """Wait until nobody listens on the port and the stopped processes hold no GPU memory.

    Returns what is still in the way after `timeout_s`, or once waiting is `in_vain`; "" when nothing is.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        busy = _what_is_busy(port, pids, before, settle_mb, addresses)
        if not busy or time.monotonic() >= deadline or in_vain():
            return busy
        note("waiting: " + busy)
        time.sleep(5 * STOP_STEP_S)


def _what_is_busy(port: int, pids: Set[int], before: Dict[str, Any], settle_mb: int, addresses: Sequence[str]) -> str:
    if port_is_held(port, addresses):
        holders = holders_of_port(port, all_stats(), addresses)
        return "port %d is held by process %s" % (port, ", ".join(str(pid) for pid in holders) or "of another user")
    if not before["used"]:
        return ""
    held = gpu_holders(query_gpu_apps())
    left = [pid for pid in pids if pid in held]
    if left:
        return "GPU memory is still held by process %s" % ", ".join(str(pid) for pid in left)
    expected = sum(before["used"]) - before["held"] + settle_mb
    used = sum(gpu_memory_used())
    return "" if used <= expected else "%d MiB of GPU memory are in use, expected at most %d" % (used, expected)
