"""The A/A control: the original, put back, is measured again and compared with what it did before it was stopped.

That all recorded parts are equal says that it was started in the same way; that it is as fast as before says that
nothing which was not recorded came back otherwise. One look in twenty differs by chance, so a difference is looked at
once more, and counts when it is seen both times.
"""

from __future__ import annotations

import math

from specdoctor.analysis.attribution import Arm, Attribution, Part, attribute
from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.launch_spread import launch_spread, same_starts
from specdoctor.analysis.stats import two_states
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Risk, Status
from specdoctor.core.moves import Bench

LOOKS = 2
FEWEST_REQUESTS = 4
"""A first control sends half as many requests as the measurement it is compared with, but not fewer than this."""


def control_move(run: Run) -> Bench | None:
    """The measurement to make once the original is back; None where it was made, has nothing to be compared with, or
    load is not allowed.
    """
    ledger = run.ledger
    before = ledger.measured("original")
    put_back = ledger.restored is not None and not ledger.changed
    if before is None or not put_back or ledger.others is not None or not ledger.granted(Risk.LOAD):
        return None
    looks = _looks(ledger)
    differed = ledger.control is not None and ledger.control.equal is False
    if looks >= LOOKS or (looks and not differed) or any(r.move == "control" for r in ledger.standing_refusals):
        return None
    why = "is the server that came back as fast as the one that was stopped?"
    if looks:
        why = "is the difference seen again, or was it chance?"
    return Bench(concurrency=before.concurrency, control=True, why=why)


def _looks(ledger: Ledger) -> int:
    return sum(1 for a in ledger.actions.values() if a.started.move.get("control"))


def control_requests(ledger: Ledger, before_requests: int) -> int:
    """How many requests a control sends: at first half, where one at a time was measured; else as many as before."""
    halved = ledger.settings.concurrency == 1 and ledger.control is None
    return max(FEWEST_REQUESTS, before_requests // 2) if halved else before_requests


def compared(ledger: Ledger, after: Measurement) -> ev.ControlCompared | None:
    """The control against the measurement before the first stop; None when there is none."""
    before = ledger.measured("original", concurrency=after.concurrency)
    if before is None:
        return None
    before = _of_the_same_state(ledger, before, after)
    try:
        spread = launch_spread(ledger)
        found = attribute(_arm("before", before), _arm("put back", after), launch_sd=spread.reckoned)
    except FigureError as error:
        return _unsaid(before, after, error.message)
    part = next((p for p in found.parts if p.name == "throughput"), None)
    if part is None:
        return _unsaid(before, after, "it gave no figure")
    # With many clients the client's own load shifts when chunks arrive, so a cycle is judged with one client only.
    judged = [p for p in found.parts if p.name != "cycle" or after.concurrency == 1]
    changed = [p for p in judged if p.changed]
    words = _words(part, changed, found)
    if changed and _at_another_speed(ledger, after):
        words = _other_speed_words(part)
        return ev.ControlCompared(
            before=before.id, after=after.id, equal=None, ratio=part.ratio, text=words, evidence=after.evidence
        )
    first = ledger.control
    if first is not None and first.ratio is not None:
        words += f"; seen in a second look, the first showed {first.ratio} times the throughput"
    return ev.ControlCompared(
        before=before.id,
        after=after.id,
        equal=not changed,
        ratio=part.ratio,
        text=words,
        evidence=after.evidence,
    )


def _of_the_same_state(ledger: Ledger, before: Measurement, after: Measurement) -> Measurement:
    """Where equal starts fall into two speeds, the nearest of them: the original comes back at one of the two."""
    starts = [(m, m.throughput.value) for m in same_starts(ledger) if m.source == "bench" and m.throughput is not None]
    if after.throughput is None or two_states([speed for _, speed in starts]) is None:
        return before
    speed = after.throughput.value
    return min(starts, key=lambda start: abs(math.log(start[1] / speed)))[0]


def _at_another_speed(ledger: Ledger, after: Measurement) -> bool:
    """Whether somebody says that equal starts differ here, and those seen with this one fall into two speeds."""
    claimed = any(h.cause == "ENV-6" and h.status is not Status.FALSIFIED for h in ledger.hypotheses.values())
    seen = {m.id: m.throughput.value for m in (*same_starts(ledger), after) if m.throughput is not None}
    return claimed and two_states(list(seen.values())) is not None


def _other_speed_words(part: Part) -> str:
    figures = f"{part.second.with_unit()} against {part.first.with_unit()} before"
    return (
        f"came back at the other of two speeds: {figures}; equal starts fall into two here (ENV-6), so the start made "
        "that and not what was put back; another start may bring the other speed"
    )


def _unsaid(before: Measurement, after: Measurement, why: str) -> ev.ControlCompared:
    text = f"whether it is as fast as before cannot be said: {why}"
    return ev.ControlCompared(before=before.id, after=after.id, equal=None, text=text, evidence=after.evidence)


def _arm(label: str, m: Measurement) -> Arm:
    return Arm(
        label=label, throughput=m.throughput, accept_length=m.accept_length, step=m.step, fingerprint=m.fingerprint
    )


def _words(part: Part, changed: list[Part], found: Attribution) -> str:
    shows = 100.0 * max(part.ratio.high / part.ratio.value - 1.0, 1.0 - part.ratio.low / part.ratio.value)
    figures = f"{part.second.with_unit()} against {part.first.with_unit()} before"
    if not changed:
        return f"as fast as before: {figures}; a difference of more than {shows:.0f} % would show"
    slower = any((p.name == "throughput") == (p.change == "lower") for p in changed if p.name != "accept length")
    word = "CAME BACK SLOWER" if slower else "CAME BACK DIFFERENT"
    parts = ", ".join(f"{p.name} {p.change} ({p.ratio})" for p in changed)
    suspects = ", ".join(s.key for s in found.suspects[:3])
    return f"{word}: {figures}; {parts}" + (f"; differs too: {suspects}" if suspects else "")
