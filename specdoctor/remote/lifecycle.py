"""Stop, start changed, and put back one plain server process, detached from whoever asked.

The way back is on disk before anything is stopped. Every order has an action id and is carried out once; the worker
that does it lives in a session of its own and survives the loss of the connection.
"""

import contextlib
import os
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from specdoctor.remote.parts.answer import Refusal, run_program
from specdoctor.remote.parts.corrected_copy import with_copy
from specdoctor.remote.parts.drivers import driver_of
from specdoctor.remote.parts.guard import dismiss_guard, post_guard
from specdoctor.remote.parts.guard_story import guard_lives, guard_story
from specdoctor.remote.parts.jobs import stop_jobs
from specdoctor.remote.parts.launch_line import changed_argv
from specdoctor.remote.parts.lease import refuse_if_held, remove_shared_lease
from specdoctor.remote.parts.orders import finished, give_to_worker, start_restoring, take_port
from specdoctor.remote.parts.other_start import look_out, other_seen, told_other
from specdoctor.remote.parts.records import keep_room, read_json, write_json
from specdoctor.remote.parts.redaction import mask_all, mask_argv
from specdoctor.remote.parts.run_dir import (
    WAY_BACK,
    action_path,
    drop_lock,
    find_run,
    make_run,
    read_actions,
    remove_run,
    touch_contact,
    under_way,
)
from specdoctor.remote.parts.run_servers import (
    Ref,
    check_stoppable,
    is_original,
    launched_by_another,
    running,
    same_by_hand,
)
from specdoctor.remote.parts.server_logs import read_span
from specdoctor.remote.parts.survey import describe_state, order_by_hand, survey, told
from specdoctor.remote.parts.way_back import prove, secrets_of
from specdoctor.remote.parts.worker import new_state

PARAMS_JSON = "{}"
POLL_BYTES = 1 << 18
NO_CHANGE: Dict[str, Any] = {"set_flags": {}, "remove_flags": [], "switches": []}


def begin(order: Dict[str, Any]) -> Dict[str, Any]:
    """Accept a LaunchOrder once; given again it is only looked up, and taken up where its worker was lost."""
    folder = find_run(order["run"])
    state = read_json(action_path(folder, order["action"])) if folder else None
    if folder and state:
        return attach(folder, state)
    refuse_if_held(order["run"], int(order["server"]["port"]))
    record = recorded(folder, order["server"])
    fresh = record is None
    if record is None:
        prove(order["server"], None)
        other = launched_by_another(order["run"], order["server"])
        if other:
            what = "this server is a test launch of run %s, which has not put its own server back" % other
            raise Refusal("held", what + "; put it back first: specdoctor investigate --resume %s" % other)
        driver = driver_of(order)
        record = driver.record(order["run"], order["server"])
        obstructed = driver.obstacles(record)
        if obstructed:
            raise Refusal("no-way-back", "the server could not be put back: " + "; ".join(obstructed))
    seen = other_seen(folder) if folder else None
    if seen:
        raise Refusal("other-start", "%s; nothing is restarted beside that" % seen["words"], "end one of the two first")
    driver_of(record).admit(order["change"])
    folder = make_run(order["run"])
    lock = take_port(folder, record)
    try:
        with records_taken(folder):
            keep_room(folder)
            if fresh:
                write_json(folder + "/" + WAY_BACK, record)
            touch_contact(folder)
        check_stoppable(folder, record, order["server"])
        order = with_copy(folder, record, order)
        post_guard(folder, record, order)
    except BaseException:
        drop_lock(folder, int(record["server"]["port"]), lock)
        raise
    give_to_worker(folder, new_state("launch", order, order["server"]), record, lock)
    return poll({"run": order["run"], "action": order["action"]})


@contextlib.contextmanager
def records_taken(folder: str) -> Iterator[None]:
    """What has to be on disk before anything is stopped. Raises Refusal where the host does not take it."""
    try:
        yield
    except OSError as failure:
        what = "the records of a restart cannot be written on the host (%s); nothing was stopped" % failure
        raise Refusal("no-room", what, "make room in %s, or have its files made writable" % folder) from failure


def recorded(folder: Optional[str], server: Ref) -> Optional[Dict[str, Any]]:
    """The way back on disk; one of another server is out of date while this run has stopped nothing yet."""
    record: Optional[Dict[str, Any]] = read_json(folder + "/" + WAY_BACK) if folder else None
    if folder and record and not read_actions(folder) and record["server"] != server:
        return None
    return record


def attach(folder: str, state: Dict[str, Any]) -> Dict[str, Any]:
    """An order that was given before: go on with it if its worker was lost, then say how far it is."""
    touch_contact(folder)
    record = read_json(folder + "/" + WAY_BACK)
    if state["outcome"] is None and not under_way(state) and record:
        try:
            give_to_worker(folder, state, record, take_port(folder, record))
        except Refusal as refusal:
            if refusal.kind != "no-worker" or not (state["stopped"] or state["launched"]):
                raise
            state["outcome"] = given_up(state, "the server was stopped; then " + refusal.message)
            return told_of(folder, state, record, [])
    return poll({"run": state["order"]["run"], "action": state["action"]})


def restore(order: Dict[str, Any]) -> Dict[str, Any]:
    """Accept a RestoreOrder; when the original already runs there is nothing to do but compare."""
    folder = find_run(order["run"])
    record = read_json(folder + "/" + WAY_BACK) if folder else None
    if folder is None or record is None:
        return finished(order, None, {}, {}, "this run has stopped no server")
    state = read_json(action_path(folder, order["action"]))
    if state:
        return attach(folder, state)
    touch_contact(folder)
    busy = [each for each in read_actions(folder) if under_way(each)]
    if busy:
        raise Refusal("busy", "action %s is still under way" % busy[0]["action"], "wait for its end, then restore")
    answer = start_restoring(folder, record, order)
    if answer is None and read_json(action_path(folder, order["action"])) is None:
        what = "the original is being put back, but the host takes no record of how far it is"
        raise Refusal("unrecorded", what, "make room in %s, then restore again: it tells what came of it" % folder)
    return answer or poll({"run": order["run"], "action": order["action"]})


def poll(params: Dict[str, Any]) -> Dict[str, Any]:
    """How far an action is, and its log since `offsets` (bytes after its start, one for each log)."""
    folder = find_run(params["run"])
    state = read_json(action_path(folder, params["action"])) if folder else None
    record = read_json(folder + "/" + WAY_BACK) if folder else None
    if folder is None or state is None or record is None:
        raise Refusal("unknown-action", "nothing is known here of action %s" % params["action"], "begin it again")
    in_touch(folder, record)
    return told_of(folder, state, record, params.get("offsets") or [])


def given_up(state: Dict[str, Any], reason: str) -> Dict[str, Any]:
    down = time.monotonic() - state["down_from"] if state["down_from"] is not None else 0.0
    return {"status": "failed", "reason": reason, "server": None, "start_s": 0.0, "downtime_s": down}


def told_of(folder: str, state: Dict[str, Any], record: Dict[str, Any], offsets: List[int]) -> Dict[str, Any]:
    """How far an action is, without secrets."""
    log, offsets = new_log(state, offsets)
    since = float(state["launched_at"] if state["launched"] else state["begun"])
    answer = {key: state[key] for key in ("action", "kind", "phase", "phases", "outcome", "stop_s", "launched")}
    answer.update(
        log=log,
        log_path=state["logs"][0][0] if state["logs"] else None,
        elapsed_s=time.monotonic() - since,
        worker_alive=under_way(state),
        argv=mask_argv(changed_argv(record["argv"], state["order"].get("change") or NO_CHANGE), set()),
    )
    masked: Dict[str, Any] = mask_all(answer, secrets_of(record))
    return dict(masked, offsets=offsets)


def in_touch(folder: str, record: Dict[str, Any]) -> None:
    """Whoever steers the run is there: the guard is told, and one that was lost is replaced."""
    touch_contact(folder)
    story = guard_story(folder)
    if story and story["acted_at"] is None and not guard_lives(story):
        known = {key: story[key] for key in ("run", "who", "grace_s")}
        with contextlib.suppress(Refusal):  # whoever looks is told that it does not live
            post_guard(folder, record, dict(story["order"], **known))


def new_log(state: Dict[str, Any], offsets: List[int]) -> Tuple[str, List[int]]:
    """Whole lines of the start's logs from `offsets` on, and where to go on; unfinished ones once the action ended."""
    text, after = "", []
    for index, (path, start) in enumerate(state["logs"]):
        offset = offsets[index] if index < len(offsets) else 0
        try:
            raw = read_span(path, int(start) + offset, POLL_BYTES)
        except OSError:
            raw = b""
        if state["outcome"] is None or len(raw) == POLL_BYTES:
            raw = raw[: raw.rfind(b"\n") + 1] or (raw if len(raw) == POLL_BYTES else b"")
        text += raw.decode("utf-8", "replace")
        after.append(offset + len(raw))
    return text, after


def host_state(params: Dict[str, Any]) -> Dict[str, Any]:
    """HostState: what this run left here and how far it came."""
    folder = find_run(params["run"])
    record = read_json(folder + "/" + WAY_BACK) if folder else None
    found: Dict[str, Any] = {"run": params["run"], "way_back": record is not None, "actions": {}, "detail": {}}
    if folder is None or record is None:
        return found
    in_touch(folder, record)
    now, whose = running(folder, record)
    states = read_actions(folder)
    found["actions"] = {str(state["action"]): describe_state(state) for state in states}
    found.update(original=record["server"], running=now, running_launch=whose or None)
    found["running_is_original"] = is_original(folder, record, whose) if now else None
    if now is None and same_by_hand(record):
        found.update(running=same_by_hand(record), running_launch="by hand", running_is_original=True)
    found["detail"] = {"folder": folder, "recorded_at": record["recorded_at"], "kinds": {}}
    found["detail"]["kinds"] = {str(state["action"]): state["kind"] for state in states}
    story = guard_story(folder)
    found["other"] = told_other(folder, record, other_seen(folder) or look_out(folder, record))
    found["guard"] = mask_all(told(story), secrets_of(record)) if story else None
    return found


def release(params: Dict[str, Any]) -> Dict[str, Any]:
    """Remove everything that this run left here; refused while the server is not the original."""
    folder = find_run(params["run"])
    if folder is None:
        return {"removed": []}
    record = read_json(folder + "/" + WAY_BACK)
    states = read_actions(folder)
    if any(under_way(state) for state in states):
        raise Refusal("busy", "an action is still under way", "wait for its end")
    if record and any(state["stopped"] or state["launched"] for state in states):
        now, whose = running(folder, record)
        back = is_original(folder, record, whose) if now else same_by_hand(record)
        if not back:
            what = "action %s runs in its place" % whose if now else "nothing runs in its place"
            raise Refusal("not-restored", "the original server is not back: " + what, "restore first")
    stop_jobs(folder)
    shared: List[str] = []
    if record:
        port = int(record["server"]["port"])
        lock = take_port(folder, record)
        dismiss_guard(folder)
        shared = remove_shared_lease(params["run"], port)
        drop_lock(folder, port, lock)
    try:
        return {"removed": remove_run(folder) + shared}
    except OSError as failure:
        raise Refusal("left-behind", "what the run left in %s cannot be removed: %s" % (folder, failure)) from failure


def main(params: Dict[str, Any]) -> Dict[str, Any]:
    command = params["cmd"]
    os.umask(0o077)
    if command == "begin":
        lease = {name: params[name] for name in ("who", "grace_s", "guard_seen")}
        return begin(dict(params["order"], **lease))
    if command == "restore":
        return restore(params["order"])
    if command == "poll":
        return poll(params)
    if command == "state":
        return host_state(params)
    if command == "release":
        return release(params)
    if command == "survey":
        return survey()
    if command == "order-by-hand":
        return order_by_hand(params["run"])
    raise Refusal("unknown-command", "there is no command %r" % command)


if __name__ == "__main__":
    sys.exit(run_program(main, PARAMS_JSON))
