"""What runs have left on a host, for people: who holds which server, what a guard did and when, what to do now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from specdoctor.core.custody import AT_WORK_S, Lease, Leftovers, LeftRun
from specdoctor.core.launch import GuardStory, RestoreOutcome
from specdoctor.core.measurement import OwnLoad
from specdoctor.render.clean import clean, one_line
from specdoctor.render.figures import duration
from specdoctor.render.layout import labelled

_LABEL = 12
_LOG_LINES = 15


def leftovers_text(found: Leftovers, *, target: str, width: int) -> str:
    """One paragraph for each run that has left something, then the servers that others hold."""
    if not found.runs and not found.leases:
        return f"{target}: nothing of specdoctor is on this host, and no server is held"
    paragraphs = [_run(left, found, target=target, width=width) for left in found.runs]
    known = {left.run for left in found.runs}
    others = [lease for lease in found.leases if lease.run not in known]
    if others:
        paragraphs.append([line for lease in others for line in _lease(lease, found.now, width)])
    return "\n\n".join("\n".join(lines) for lines in paragraphs)


def _lease(lease: Lease, now: float, width: int) -> list[str]:
    text = (
        f"held by run {lease.run} of {lease.who} ({lease.user} on this host) for {duration(now - lease.since)}; "
        f"its guard is process {lease.guard.pid} and waits {duration(lease.grace_s)} before it acts"
    )
    return labelled(f"port {lease.port}", one_line(text), label_width=_LABEL, width=width)


def _run(left: LeftRun, found: Leftovers, *, target: str, width: int) -> list[str]:
    def row(label: str, text: str) -> list[str]:
        return labelled(label, one_line(text), label_width=_LABEL, width=width)

    lines = row(f"run {left.run}", _headline(left))
    if left.guard is not None:
        lines += [line for at, text in left.guard.story for line in row(f"  {_clock(at)}", text)]
    lines += row("  server", _server(left))
    lines += [line for load in left.loads for line in row("  load", _load(load, left))]
    lines += row("  left", f"{left.folder} ({len(left.files)} files)")
    if left.guard is not None and left.guard.phase == "failed":
        lines += _log(left.guard.log or left.log, row)
    lines += row("  next", _next(left, target))
    return lines


def _load(load: OwnLoad, left: LeftRun) -> str:
    how = "loads the server" if left.standing in ("steered", "at work") else "still loads a server"
    return f"{load.words} {how}" + (f": {load.progress}" if load.progress else "")


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S")


def _headline(left: LeftRun) -> str:
    who = f" of {left.who}" if left.who else ""
    silent = f"last in touch {duration(left.silent_s)} ago" if left.silent_s is not None else "never in touch"
    over = _ended(left) if left.ended is not None else f"over or lost{who}, {silent}"
    lost = f"{over}, and the server was not put back" if left.ended is not None else f"lost{who}, {silent}, and"
    lost += ": " if left.ended is not None else " "
    words = {
        "steered": f"at work{who}, {silent}",
        "at work": f"at work{who}, {silent}; it has stopped no server",
        "silent": f"silent{who}, {silent}; its guard {_guard_waits(left.guard)}",
        "acting": f"silent{who}: its guard is putting the original back",
        "as found": f"{over}; {_guard_did(left)}",
        "changed": f"{lost}THE SERVER IS NOT AS IT WAS; {_guard_did(left)}",
        "down": f"{lost}THE SERVER IS DOWN; {_guard_did(left)}",
        "past": f"{over}; what it left is from before: {_now(left)}",
        "files": f"{over if left.ended is not None else silent}; it has stopped no server",
    }
    return words[left.standing]


def _now(left: LeftRun) -> str:
    if left.held_by:
        return f"the server is held by {left.held_by}"
    return f"process {left.listening}, which is neither the original nor a test launch of this run, has its port"


def _guard_waits(guard: GuardStory | None) -> str:
    return f"acts after {duration(guard.grace_s)} of silence" if guard is not None else "is gone"


def _ended(left: LeftRun) -> str:
    """How whoever steered it has ended, by its own last word."""
    end = left.ended
    assert end is not None
    how = f"with exit code {end.exit_code}" if end.exit_code is not None else "by a failure of its own"
    who = f"of {left.who}, " if left.who else ""
    return f"{who}ended at {_clock(end.at)} {how}" + (f" ({end.words})" if end.words else "")


def _guard_did(left: LeftRun) -> str:
    guard, acts_in_s = left.guard, left.guard_acts_in_s
    if guard is None:
        return "there was no guard"
    if acts_in_s is not None and left.standing == "as found":
        return f"its guard looks once more in {duration(acts_in_s)}"
    if acts_in_s is not None:
        return f"its guard puts the original back in {duration(acts_in_s)}, unless somebody does so before"
    did = {
        "watching": "its guard was lost before it acted",
        "acting": "its guard was lost while it put the original back",
        "restored": "its guard put the original back",
        "nothing-to-do": "its guard found the original in place",
        "left-alone": f"its guard left the port alone: {guard.reason}",
        "failed": f"ITS GUARD COULD NOT PUT THE ORIGINAL BACK: {guard.reason}",
    }
    return did[guard.phase]


def _server(left: LeftRun) -> str:
    where = f"port {left.port}" if left.port is not None else "none"
    if left.standing == "past":
        return f"{where}: {_now(left)}"
    if left.running is None:
        return f"{where}: nothing of this run or of the original runs" if left.way_back else "not stopped by this run"
    what = "the original" if left.running_is_original else "a test launch"
    under_way = f"; {', '.join(f'{k} {v}' for k, v in left.actions.items())}" if left.under_way else ""
    return f"{where}: {what}, process {left.running.pid}{under_way}"


def _log(text: str, row: Callable[[str, str], list[str]]) -> list[str]:
    lines = clean(text).splitlines()[-_LOG_LINES:]
    return [piece for i, line in enumerate(lines) for piece in row("  its log" if i == 0 else "", line)]


def _next(left: LeftRun, target: str) -> str:
    by_hand = f"specdoctor restore {target} --run {left.run}"
    if left.standing == "at work":
        return f"wait for its end; once it was silent for {AT_WORK_S:.0f} s it counts as lost"
    if left.standing == "steered":
        return "wait; it puts the server back at its end"
    if left.standing == "acting":
        return "wait; look again in a while"
    if left.standing == "past" and left.held_by:
        return "wait for the end of the run that holds the server, then look again"
    if left.standing == "past":
        return f"end that process if it is not wanted, then {by_hand}; or look after {left.folder} yourself"
    if left.standing == "files":
        return f"{by_hand} ({'ends the benchmark, ' if left.loads else ''}removes the files)"
    resume = f"specdoctor investigate --resume {left.run}, where it was begun"
    if left.standing in ("changed", "down") and left.ended is not None:
        return f"{by_hand} puts it back now; or: {resume}"
    return f"{resume}; or: {by_hand}"


def restored_text(run: str, outcome: RestoreOutcome, removed: tuple[str, ...], *, width: int) -> str:
    """What putting back by hand came to."""

    def row(label: str, text: str) -> list[str]:
        return labelled(label, one_line(text), label_width=_LABEL, width=width)

    equal = sum(outcome.equal.values())
    differs = "; ".join(
        f"{name}: {outcome.differences.get(name, '')}" for name, same in outcome.equal.items() if not same
    )
    compared = f"{equal} of {len(outcome.equal)} parts equal" + (f"; not equal: {differs}" if differs else "")
    pid = f"process {outcome.server.pid}" if outcome.server is not None else "no process"
    came = {
        "restored": f"the original is back as {pid} and healthy; {compared}",
        "nothing-to-do": f"the original runs as {pid}; {compared}" if outcome.server else outcome.reason,
    }
    lines = row(f"run {run}", came.get(outcome.status, f"NOT put back, {outcome.status}: {outcome.reason}"))
    if outcome.other is not None:
        lines += row("  beside it", outcome.other.words)
    if removed:
        lines += row("  removed", ", ".join(removed))
    if outcome.status not in came:
        lines += _log(outcome.log, row)
    return "\n".join(lines)
