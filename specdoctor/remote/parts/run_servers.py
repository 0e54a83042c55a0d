"""Which server of a run lives now, and whether it is the original."""

import os
from typing import Any, Dict, List, Optional, Set, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.drivers import driver_of
from specdoctor.remote.parts.procfs import (
    Stat,
    alive,
    all_stats,
    ancestors_of,
    argv_of,
    holders_of_port,
    link_of,
    listens_beside,
    port_is_held,
    tree_of,
)
from specdoctor.remote.parts.records import read_json
from specdoctor.remote.parts.run_dir import WAY_BACK, other_runs, read_actions
from specdoctor.remote.parts.way_back import boot_id, prove

Ref = Dict[str, int]


def running(folder: str, record: Dict[str, Any]) -> Tuple[Optional[Ref], str]:
    """The server of this run that lives now, and whose it is: "original", an action's id, or "" for none."""
    if record["boot_id"] != boot_id():
        return None, ""
    for state in reversed(read_actions(folder)):
        launched = state["launched"]
        if launched and alive(launched["pid"], launched["start_ticks"]):
            return launched, str(state["action"])
    server = record["server"]
    if alive(server["pid"], server["start_ticks"]):
        return server, "original"
    found = driver_of(record).found(record)
    if found is None:
        return None, ""
    kept, test = found
    launches = [str(state["action"]) for state in read_actions(folder) if state["kind"] == "launch"]
    return kept, launches[-1] if test and launches else "original"


def is_original(folder: str, record: Dict[str, Any], whose: str) -> bool:
    """Whether what runs is the untouched original or a finished restoration of it.

    An original that was told to stop by a worker which was lost meanwhile is neither: it may be on its way down.
    """
    states = read_actions(folder)
    if whose == "original":
        return not any(state["stopped"] and not state["launched"] and _cut_short(state) for state in states)
    states = [state for state in states if state["action"] == whose]
    return bool(states) and states[0]["kind"] == "restore"


def _cut_short(state: Dict[str, Any]) -> bool:
    return state["outcome"] is None or (state["outcome"]["status"] == "undone" and not state.get("other"))


def addresses_of(record: Dict[str, Any]) -> List[str]:
    """Where the original listened; empty where that is not on record, and then every listener of its port counts."""
    return list(record.get("addresses") or [])


def same_by_hand(record: Dict[str, Any]) -> Optional[Ref]:
    """A process that somebody else started with the original's words on the original's port."""
    stats = all_stats()
    port = int(record["server"]["port"])
    for holder in holders_of_port(port, stats, addresses_of(record)):
        for pid in [holder, *ancestors_of(holder, stats)]:
            if argv_of(pid) == record["argv"]:
                return {"pid": pid, "start_ticks": stats[pid].start_ticks, "port": port}
    return None


def being_stopped(folder: str, server: Ref) -> bool:
    """Whether a process belongs to a tree that a worker of this run has told to stop."""
    return (server["pid"], server["start_ticks"]) in _told_to_stop(folder)


def _told_to_stop(folder: str) -> List[Tuple[int, int]]:
    members = [member for state in read_actions(folder) for member in state.get("members", [])]
    return [(int(pid), int(ticks)) for pid, ticks in members]


def remains_of(folder: str, stats: Dict[int, Stat]) -> Dict[int, int]:
    """What lives of trees whose stop was cut short, and orphans of this run's starts that have ended: ticks by pid.

    A start leads a session of its own, whose number no other process gets while a member of it lives.
    """
    found = {pid: ticks for pid, ticks in _told_to_stop(folder) if alive(pid, ticks)}
    for launched in [state["launched"] for state in read_actions(folder) if state["launched"]]:
        if alive(launched["pid"], launched["start_ticks"]):
            continue
        for stat in stats.values():
            if stat.session == launched["pid"] and stat.start_ticks >= launched["start_ticks"]:
                found[stat.pid] = stat.start_ticks
    return found


def begun_by_another(folder: str, record: Dict[str, Any], own: Optional[Ref] = None) -> Optional[Ref]:
    """A process that somebody else started with the original's words, whether or not it listens already.

    It began after this run's first order: a second server with the same words, of before, is none of it. `own` is a
    start of this run that no record may tell of.
    """
    states, stats = read_actions(folder), all_stats()
    known, sessions = _of_this_run(folder, record, states, stats, own)
    above = {each for pid, ticks in known if alive(pid, ticks) for each in ancestors_of(pid, stats)}
    since = min([int(state.get("begun_ticks") or 0) for state in states] or [0])
    space = link_of(os.getpid(), "ns/net")
    for pid, stat in stats.items():
        if stat.start_ticks < since or stat.state in ("Z", "X") or stat.session in sessions or pid in above:
            continue
        if not record["argv"] or argv_of(pid) != record["argv"] or argv_of(stat.ppid) == record["argv"]:
            continue
        if (link_of(pid, "ns/net") or space) != space:
            continue  # in a container with a network of its own: it is not in the way
        if not _in_family(pid, stats, known):
            return {"pid": pid, "start_ticks": stat.start_ticks, "port": int(record["server"]["port"])}
    return None


def holder_of_others(folder: str, record: Dict[str, Any], own: Optional[Ref] = None) -> Optional[int]:
    """A process that listens on the server's port and that this run neither found there nor started."""
    port, stats = int(record["server"]["port"]), all_stats()
    if not port_is_held(port, addresses_of(record)):
        return None
    known, sessions = _of_this_run(folder, record, read_actions(folder), stats, own)
    holders = [pid for pid in holders_of_port(port, stats, addresses_of(record)) if pid in stats]
    ours = [pid for pid in holders if _in_family(pid, stats, known) or stats[pid].session in sessions]
    return holders[0] if holders and not ours else None


def _of_this_run(
    folder: str, record: Dict[str, Any], states: List[Dict[str, Any]], stats: Dict[int, Stat], own: Optional[Ref]
) -> Tuple[Set[Tuple[int, int]], Set[int]]:
    """What belongs to this run: processes (pid, start ticks), and the sessions that its starts lead."""
    refs = [record["server"], own] + [state["launched"] for state in states]
    known = {(ref["pid"], ref["start_ticks"]) for ref in refs if ref}
    leads = {pid for pid, ticks in known if pid in stats and stats[pid].session == pid and alive(pid, ticks)}
    return known | set(remains_of(folder, stats).items()), leads


def _in_family(pid: int, stats: Dict[int, Stat], known: Set[Tuple[int, int]]) -> bool:
    family = [pid, *ancestors_of(pid, stats)]
    return any((each, stats[each].start_ticks) in known for each in family if each in stats)


def launched_by_another(run: str, server: Ref) -> Optional[str]:
    """The run that started this server as a test launch and has not put its own original back; None for any other."""
    for name, folder in other_runs(run):
        record = read_json(folder + "/" + WAY_BACK)
        if not record or record["boot_id"] != boot_id():
            continue
        for state in read_actions(folder):
            launched = state["launched"] if state["kind"] == "launch" else None
            if launched and (launched["pid"], launched["start_ticks"]) == (server["pid"], server["start_ticks"]):
                return name
    return None


def check_stoppable(folder: str, record: Dict[str, Any], server: Ref) -> None:
    """Raises Refusal unless what would be stopped is proved to be this run's server, or nothing is in the way."""
    refs = [record["server"]] + [state["launched"] for state in read_actions(folder) if state["launched"]]
    kept = driver_of(record).found(record)
    refs += [kept[0]] if kept else []
    if (server["pid"], server["start_ticks"]) not in [(ref["pid"], ref["start_ticks"]) for ref in refs]:
        raise Refusal("not-the-server", "pid %d is no server of this run" % server["pid"], "look again")
    now, whose = running(folder, record)
    port = int(record["server"]["port"])
    if now:
        # What this run started, or has begun to stop, is proved by that; it need not listen yet, or any more.
        known = whose != "original" or any(state["stopped"] for state in read_actions(folder))
        prove(now, record["argv"] if whose == "original" else None, listening=not known)
        if not known and listens_beside(tree_of(now["pid"], all_stats()), port):
            raise Refusal("port-shared", "somebody else listens on port %d of the same address too" % port,
                          "restart it by hand: what answers there would not be known to be this server")  # fmt: skip
    elif port_is_held(port, addresses_of(record)):
        stats = all_stats()
        pids, ours = holders_of_port(port, stats, addresses_of(record)), remains_of(folder, stats)
        if pids and all(pid in ours for pid in pids):
            return  # orphans of this run's server: they are cleared away
        holders = ", ".join(str(pid) for pid in pids) or "of another user"
        raise Refusal("port-taken", "the server has ended and port %d belongs to process %s now" % (port, holders),
                      "end that one or have it listen elsewhere, then put the server back")  # fmt: skip
