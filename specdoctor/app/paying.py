"""What would have to come true for speculation to pay where it is switched off now, in the order of what it takes."""

from __future__ import annotations

import math

from specdoctor.analysis.cycle import (
    estimated_break_even,
    estimated_break_even_cycle,
    required_accept_length,
)
from specdoctor.analysis.symptom import read_symptom
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Status


def what_would_pay(ledger: Ledger) -> tuple[str, ...]:
    """Both sides of break-even for one client, and what a wished throughput needs; nothing where not measured."""
    now, off = ledger.measured("original", concurrency=1), ledger.baseline(1)
    if now is None or off is None or not now.spec.on:
        return ()
    if ledger.settings.concurrency > 1:
        return _for_fewer(ledger, now, off)
    if now.step is None or now.accept_length is None or off.throughput is None:
        return ()
    length = estimated_break_even(now.step, off.throughput)
    cycle = estimated_break_even_cycle(now.accept_length, off.throughput)
    steps = now.spec.draft_steps
    out = []
    if length.value <= steps + 1:
        out.append(
            f"on again at an accept length of {length.value:.2f} or more (now {now.accept_length.value:.2f} of at most "
            f"{steps + 1}): {_for_length(ledger)}"
        )
    else:
        out.append(f"{_steps(steps)} can never pay at this cycle: break-even {length.value:.2f}, at most {steps + 1}")
    rivals = [h for h in ledger.hypotheses.values() if h.about == "cycle" and h.status is Status.OPEN and h.decides]
    tests = ": settle what makes it long by the tests of its rivals" if rivals else ""
    out.append(f"or with a cycle under {cycle.value:.1f} ms (now {now.step.value:.1f}){tests}")
    return (*out, *_wished(ledger, now))


def _for_length(ledger: Ledger) -> str:
    """How the accept length would rise: by repairing what keeps it low where that is known, else by training."""
    known = [
        h.cause
        for h in ledger.hypotheses.values()
        if h.answers == "explains" and h.about == "accept_length" and h.status is Status.SUPPORTED and h.cause
        if not h.cause.startswith("TRAIN-")
    ]
    if known:
        return f"repair {', '.join(dict.fromkeys(known))} first"
    return "train the drafter on more data, or answers of this target"


def _for_fewer(ledger: Ledger, now: Measurement, off: Measurement) -> tuple[str, ...]:
    """Where one client gains and many lose: about how many are too many, by the logarithm of both between the two."""
    many = ledger.settings.concurrency
    crowd, crowd_off = ledger.measured("original", concurrency=many), ledger.baseline(many)
    pairs = ((now, off), (crowd, crowd_off))
    ratios = [
        one.throughput.value / other.throughput.value
        for one, other in pairs
        if one is not None and other is not None and one.throughput is not None and other.throughput is not None
    ]
    if len(ratios) < 2 or ratios[0] <= 1.0 or ratios[1] >= 1.0:
        return ()
    share = math.log(ratios[0]) / (math.log(ratios[0]) - math.log(ratios[1]))
    about = max(round(math.exp(share * math.log(many))), 1)
    said = f"for one client speculation gives {ratios[0]:.2f} of none, for {many} clients {ratios[1]:.2f}"
    advice = f"on below about {about} clients, off above (predicted between the two; measure there to rely on it)"
    return (f"{said}: {advice}",)


def _wished(ledger: Ledger, now: Measurement) -> tuple[str, ...]:
    target = read_symptom(ledger.settings.symptom).at(1).figure("throughput_tok_s", "wished")
    if target is None or now.step is None:
        return ()
    steps = now.spec.draft_steps
    need = required_accept_length(target=target, cycle_ms=now.step.value, steps=steps)
    reach = {
        None: f"within reach of {_steps(steps)}",
        "above-maximum": f"out of reach with {_steps(steps)} (at most {steps + 1})",
        "needs-rate-over-0.90": f"out of reach with {_steps(steps)} (at most {steps + 1}, with all drafts accepted)",
    }[need.obstacle]
    return (f"{target:g} tok/s needs an accept length of {need.accept_length:.2f} at this cycle: {reach}",)


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"
