"""Somebody else who starts the server too: a supervisor that no script shows, a person; or who takes its port."""

from typing import Any, Dict, Optional

from specdoctor.remote.parts.drivers import driver_of
from specdoctor.remote.parts.procfs import alive, all_stats
from specdoctor.remote.parts.records import note_json, read_json
from specdoctor.remote.parts.run_dir import read_actions, under_way
from specdoctor.remote.parts.run_servers import Ref, begun_by_another, holder_of_others, is_original, running

SEEN = "other.json"
OtherStart = Dict[str, Any]
"""`same`: with the original's words, else it only has its port; `words`: who it is; and the process."""


def other_start(
    folder: str, record: Dict[str, Any], own: Optional[Ref] = None, same: bool = True
) -> Optional[OtherStart]:
    """A process beside this run's own that somebody else started as the server, or that has its port.

    Without `same` only the port counts.
    """
    begun = begun_by_another(folder, record, own) if same else None
    if begun:
        return dict(
            begun, same=True, words="somebody else has started the server too, as " + _named_process(begun["pid"])
        )
    holder = holder_of_others(folder, record, own) if driver_of(record).own_port else None
    return None if holder is None else taken_by(holder, int(record["server"]["port"]))


def taken_by(pid: int, port: int) -> OtherStart:
    """A stranger on the server's port."""
    stat = all_stats().get(pid)
    words = "port %d was taken by %s, which is left alone" % (port, _named_process(pid))
    return {"pid": pid, "start_ticks": stat.start_ticks if stat else 0, "port": port, "same": False, "words": words}


def _named_process(pid: int) -> str:
    """A process by its name and its parent's: their words may hold secrets."""
    stats = all_stats()
    stat = stats.get(pid)
    if stat is None:
        return "process %d" % pid
    above = stats.get(stat.ppid)
    parent = "below process %d, %s" % (above.pid, above.comm) if above else "its parent is hidden from this login"
    words = "process %d (%s; %s)" % (pid, stat.comm, parent)
    return "".join(char if char.isprintable() else "?" for char in words)


def note_other(folder: str, other: OtherStart) -> None:
    """Write down what was seen: it counts for the whole run. One with the original's words outweighs a stranger."""
    seen = other_seen(folder)
    if seen is None or (other["same"] and not seen["same"]):
        note_json(folder + "/" + SEEN, other)


def other_seen(folder: str) -> Optional[OtherStart]:
    """What was seen of that in this run, by whoever looked."""
    found: Optional[OtherStart] = read_json(folder + "/" + SEEN)
    return found


def look_out(folder: str, record: Dict[str, Any]) -> Optional[OtherStart]:
    """Who starts the server too, as far as that can be told now: a worker that is under way looks for itself."""
    if any(state["outcome"] is None or under_way(state) for state in read_actions(folder)):
        return None
    found = other_start(folder, record)
    if any(state["outcome"] is None or under_way(state) for state in read_actions(folder)):
        return None
    if found:
        note_other(folder, found)
    return found


def told_other(folder: str, record: Dict[str, Any], seen: Optional[OtherStart]) -> Optional[OtherStart]:
    """What was seen, for the other side, and what lives of it now; one that ended gives way to a newer one."""
    if not seen:
        return None
    other = seen if _lives(seen) else other_start(folder, record) or seen
    other = other if other["same"] >= seen["same"] else seen
    told = {key: other[key] for key in ("pid", "same", "words")}
    now, whose = running(folder, record)
    ours = now is not None and now["pid"] != other["pid"] and is_original(folder, record, whose)
    return dict(told, alive=_lives(other), ours_alive=ours)


def _lives(other: OtherStart) -> bool:
    return alive(int(other["pid"]), int(other["start_ticks"]))
