"""Handing an order to a worker of its own, under the lock of the server's port."""

import os
from typing import Any, Dict, Optional

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.detached import Ready, detached
from specdoctor.remote.parts.drivers import driver_of
from specdoctor.remote.parts.other_start import other_seen, other_start, told_other
from specdoctor.remote.parts.procfs import own_stat
from specdoctor.remote.parts.run_dir import drop_lock, read_actions, sign_lock, take_lock
from specdoctor.remote.parts.run_servers import Ref, being_stopped, check_stoppable, is_original, running, same_by_hand
from specdoctor.remote.parts.worker import Worker, new_state


def take_port(folder: str, record: Dict[str, Any]) -> int:
    """The lock of the server's port. Raises Refusal while another order for it is under way."""
    port = int(record["server"]["port"])
    lock, holder = take_lock(folder, port)
    if lock is None:
        raise Refusal("busy", "another order for port %d is under way: %s" % (port, holder), "wait for its end")
    return lock


def give_to_worker(folder: str, state: Dict[str, Any], record: Dict[str, Any], lock: int) -> None:
    """A worker that carries the order out and holds the lock until then. Raises Refusal when none can be started."""
    port = int(record["server"]["port"])

    def work(ready: Ready) -> None:
        worker = Worker(folder, state, record)
        own = own_stat(os.getpid())
        worker.save(worker={"pid": os.getpid(), "start_ticks": own.start_ticks if own else 0})
        sign_lock(lock, "run %s, action %s, worker %d" % (state["order"]["run"], state["action"], os.getpid()))
        ready()
        worker.run()
        drop_lock(folder, port, lock)

    try:
        began = detached(work, keep=(lock,))
    finally:
        os.close(lock)
    if not began:
        raise Refusal("no-worker", "no process could be started on the host to carry this out; nothing was done")


def start_restoring(
    folder: str, record: Dict[str, Any], order: Dict[str, Any], lock: Optional[int] = None
) -> Optional[Dict[str, Any]]:
    """Hand the restoration to a worker (then None), or the answer at once when the original runs.

    A `lock` that is given is used up in both cases. Raises Refusal when the port is somebody else's.
    """
    port = int(record["server"]["port"])
    try:
        now, whose = running(folder, record)
        by_hand = same_by_hand(record) if now is None else None
        back = is_original(folder, record, whose) if now else bool(by_hand and not being_stopped(folder, by_hand))
        now = now or by_hand
        answer = _compared(folder, record, order, now, whose) if now and back else None
        if answer is not None:
            other = other_start(folder, record) or other_seen(folder)
            answer["outcome"]["other"] = told_other(folder, record, other)
        if answer is None:
            lock = take_port(folder, record) if lock is None else lock
            check_stoppable(folder, record, now or record["server"])
    except BaseException:
        if lock is not None:
            drop_lock(folder, port, lock)
        raise
    if answer is None and lock is not None:
        give_to_worker(folder, new_state("restore", order, now), record, lock)
    elif lock is not None:
        drop_lock(folder, port, lock)
    return answer


def _compared(folder: str, record: Dict[str, Any], order: Dict[str, Any], now: Ref, whose: str) -> Dict[str, Any]:
    notes = [state["notes"] for state in read_actions(folder) if state["action"] == whose]
    equal, differences = driver_of(record).compare(record, now["pid"], notes[0] if notes else {})
    return finished(order, now, equal, differences, "")


def finished(
    order: Dict[str, Any], server: Optional[Ref], equal: Dict[str, bool], differences: Dict[str, str], reason: str
) -> Dict[str, Any]:
    """The answer where nothing had to be done."""
    outcome: Dict[str, Any] = {"status": "nothing-to-do", "server": server, "reason": reason}
    outcome.update(equal=equal, differences=differences, start_s=0.0, downtime_s=0.0)
    return {"action": order["action"], "phase": "nothing-to-do", "phases": {}, "outcome": outcome, "log": ""}
