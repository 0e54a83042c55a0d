"""What runs of specdoctor have left on this host, as anybody who looks is told: nothing is changed by looking."""

import time
from typing import Any, Dict, List, Optional, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.controller_end import told_end
from specdoctor.remote.parts.guard_story import guard_lives, guard_story
from specdoctor.remote.parts.jobs import loads_of
from specdoctor.remote.parts.lease import LEASE, held_leases, lease_words, refuse_if_held
from specdoctor.remote.parts.procfs import all_stats, holders_of_port
from specdoctor.remote.parts.records import names_in, read_json
from specdoctor.remote.parts.redaction import mask_all, mask_text
from specdoctor.remote.parts.run_dir import WAY_BACK, contact_at, find_run, other_runs, read_actions, under_way
from specdoctor.remote.parts.run_servers import addresses_of, is_original, running, same_by_hand
from specdoctor.remote.parts.server_logs import log_end
from specdoctor.remote.parts.way_back import boot_id, secrets_of

LOG_BYTES = 3000


def told(story: Dict[str, Any]) -> Dict[str, Any]:
    """The part of a guard's story that is for the other side."""
    wanted = ("grace_s", "since", "phase", "acted_at", "quiet_s", "result", "reason", "log", "story")
    outcome = dict(story["outcome"], action="guard") if story["outcome"] else None
    return dict({key: story[key] for key in wanted}, outcome=outcome, alive=guard_lives(story))


def describe_state(state: Dict[str, Any]) -> str:
    if state["outcome"] is not None:
        return str(state["outcome"]["status"])
    return str(state["phase"]) if under_way(state) else "lost while " + str(state["phase"])


def silent_for_s(folder: str) -> Optional[float]:
    """Seconds since whoever steers the run was last in touch; None if it never was."""
    at = contact_at(folder)
    return max(0.0, time.time() - at) if at else None


def survey() -> Dict[str, Any]:
    """Every run of this user that has a folder here, and every lease in force that can be seen."""
    leases = held_leases()
    return {"now": time.time(), "leases": leases, "runs": [_left(name, path, leases) for name, path in other_runs("")]}


def _left(name: str, folder: str, leases: List[Dict[str, Any]]) -> Dict[str, Any]:
    record = read_json(folder + "/" + WAY_BACK)
    lease = read_json(folder + "/" + LEASE) or {}
    states = read_actions(folder)
    found: Dict[str, Any] = {
        "run": name,
        "folder": folder,
        "files": names_in(folder),
        "who": str(lease.get("who") or ""),
        "silent_s": silent_for_s(folder),
        "ended": told_end(folder),
        "way_back": record is not None,
        "actions": {str(state["action"]): describe_state(state) for state in states},
        "under_way": any(under_way(state) for state in states),
        "stopped": ever_stopped(states),
        "loads": loads_of(folder),
        "guard": None,
        "log": "",
    }
    if record is None:
        return found
    now, whose = running(folder, record)
    by_hand = same_by_hand(record) if now is None else None
    story, port = guard_story(folder), int(record["server"]["port"])
    held = [lease_words(lease) for lease in leases if lease["port"] == port and lease["run"] != name]
    listening = [] if now or by_hand else holders_of_port(port, all_stats(), addresses_of(record))
    found.update(
        port=port,
        held_by=held[0] if held else "",
        listening=listening[0] if listening else None,
        recorded_at=float(record["recorded_at"]),
        rebooted=record["boot_id"] != boot_id(),
        running=now or by_hand,
        running_is_original=is_original(folder, record, whose) if now else (True if by_hand else None),
        guard=told(story) if story else None,
        log=_last_words(states, record),
    )
    masked: Dict[str, Any] = mask_all(found, secrets_of(record))
    return masked


def _last_words(states: List[Dict[str, Any]], record: Dict[str, Any]) -> str:
    """The end of the log of the newest start."""
    logs = states[-1]["logs"] if states else []
    text = "".join(log_end(str(path), int(start), LOG_BYTES) for path, start in logs)
    return mask_text(text, secrets_of(record))[-LOG_BYTES:]


def order_by_hand(run: Optional[str]) -> Dict[str, Any]:
    """The order that puts back what a run has changed, for somebody who does not steer it.

    Raises Refusal when there is nothing to put back, when it is not clear which run is meant, or while whoever steers
    the run is in touch.
    """
    runs = [(name, folder) for name, folder in other_runs("") if read_json(folder + "/" + WAY_BACK)]
    chosen = _meant(run, runs)
    if not chosen:
        there = ", ".join(name for name, _ in runs) or "none"
        said = "no run has left a way back here" if run is None else "run %s has left no way back here" % run
        raise Refusal("nothing-left", said, "runs that have: %s" % there)
    if len(chosen) > 1:
        names = ", ".join(name for name, _ in chosen)
        raise Refusal("which-run", "%d runs have left a way back here: %s" % (len(chosen), names), "name it with --run")
    name, folder = chosen[0]
    _refuse_while_steered(name, folder)
    record = read_json(folder + "/" + WAY_BACK)
    refuse_if_held(name, int(record["server"]["port"]) if record else 0)
    states = read_actions(folder)
    known = guard_story(folder) or {}
    wanted = known.get("order") or (states[-1]["order"] if states else None)
    if wanted is None or find_run(name) is None:
        raise Refusal("nothing-left", "run %s has stopped no server" % name, "its folder is %s" % folder)
    taken = [state["action"] for state in states]
    action = next(each for each in ("by-hand-%d" % number for number in range(1, 1000)) if each not in taken)
    limits = {key: wanted[key] for key in wanted if key.endswith("_s") or key in ("rules", "memory_settle_mb")}
    return dict(limits, run=name, action=action, port=int(record["server"]["port"] if record else 0))


def _meant(run: Optional[str], runs: List[Tuple[str, str]]) -> List[Tuple[str, str]]:
    """The run of that name; where none is named, the one that holds a server now goes before those of the past."""
    if run is not None:
        return [(name, folder) for name, folder in runs if name == run]
    holding = {lease["run"] for lease in held_leases()}
    held = [(name, folder) for name, folder in runs if name in holding]
    return held or [(name, folder) for name, folder in runs if ever_stopped(read_actions(folder))] or runs


def ever_stopped(states: List[Dict[str, Any]]) -> bool:
    return any(state["stopped"] or state["launched"] for state in states)


def _refuse_while_steered(run: str, folder: str) -> None:
    story, silent_s = guard_story(folder), silent_for_s(folder)
    if not story or silent_s is None or not guard_lives(story) or told_end(folder):
        return
    if story["phase"] == "watching" and silent_s < story["grace_s"] / 2.0:
        who = (read_json(folder + "/" + LEASE) or {}).get("who")
        said = "run %s is steered by %s, last in touch %d s ago" % (run, who, silent_s)
        raise Refusal("held", said, "stop it there (Ctrl-C puts the server back), or wait until it is silent")
