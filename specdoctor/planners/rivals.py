"""What is left to explain a confirmed loss: rivals for the accept length and for a long cycle."""

from __future__ import annotations

from specdoctor.analysis.cycle import GAP_IS_FINDING, identity_gap
from specdoctor.analysis.reading import read_tax
from specdoctor.analysis.symptom import Symptom
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.moves import OpenHypothesis
from specdoctor.core.ports import Briefing
from specdoctor.planners.state import explained, slower_confirmed


def rivals(briefing: Briefing, symptom: Symptom) -> list[OpenHypothesis]:
    """What is left to explain a confirmed loss: rivals for the accept length, and for the cycle where it is long.

    Accept length alone never prefers one rival to another; each keeps the test that would decide it. What explains the
    accept length leaves a long cycle unexplained.
    """
    ledger = briefing.ledger
    if not slower_confirmed(ledger) or explained(ledger, "symptom") or explained(ledger, "cycle"):
        return []
    low = not explained(ledger, "accept_length")
    out = [_rival(o) for o in _suggested(ledger, "accept_length")] if low else []
    gap = prefill_in_the_clock(ledger)
    out += [gap] if gap is not None else []
    cycle = long_cycle(ledger)
    if cycle is not None:
        out.append(cycle)
        suggested = _suggested(ledger, "cycle")
        out += [_rival(o) for o in suggested]
        out += _standing_cycle_rivals(briefing, {o.cause for o in suggested})
    return out


def _suggested(ledger: Ledger, about: str) -> list[Observation]:
    """What checks suggest about one quantity, the cheapest deciding test first."""
    found = [o for o in ledger.observed() if o.stance == "suggests" and o.about == about]
    return sorted(found, key=lambda o: ("read", "load", "restart", "offline").index(o.decided_by))


def _rival(o: Observation) -> OpenHypothesis:
    return OpenHypothesis(
        key=o.rival_key,
        cause=o.cause,
        claim=o.claim,
        answers="explains",
        about=o.about,
        decides=o.decides,
        todo=((o.decides, "medium"),) if o.decides else (),
        why=f"check {o.check}",
    )


def long_cycle(ledger: Ledger) -> OpenHypothesis | None:
    """The finding that a cycle costs far more than a baseline step, judged by ratio and excess together."""
    concurrency = ledger.settings.concurrency
    now, off = ledger.measured("original", concurrency=concurrency), ledger.baseline(concurrency)
    if now is None or off is None or now.step is None or off.step is None or not now.spec.on:
        return None
    tax = read_tax(fixed_ms=fixed_part_ms(ledger, now), baseline_step_ms=off.step.value)
    if tax.reading not in ("look", "system-fault"):
        return None
    ratio = now.step.value / off.step.value
    return OpenHypothesis(
        key="finding:cycle",
        cause=None,
        claim=f"a cycle of {now.spec.draft_tokens} tokens costs {ratio:.1f} baseline steps "
        f"({now.step.value:.1f} against {off.step.value:.1f} ms)",
        answers="exists",
        about="cycle",
        prediction=Prediction(
            metric="step_ms",
            op=">",
            value=1.3 * off.step.value,
            under="original",
            under_label="as found",
            concurrency=concurrency,
            value_from=f"1.3 baseline steps, {off.evidence}",
        ),
        todo=(("compare one cycle with one baseline step", "high"),),
        why="above 1.3 baseline steps a chain's cycle is worth a look; above 1.8 more than drafting is in it",
    )


def prefill_in_the_clock(ledger: Ledger) -> OpenHypothesis | None:
    """The finding that requests are slower than accept length and cycle say: their clock runs in prefill too."""
    now = ledger.measured("original", concurrency=1)
    if now is None or now.throughput is None or now.request_throughput is None or now.step is None:
        return None
    if now.accept_length is None or ledger.settings.concurrency != 1:
        return None
    gap = identity_gap(throughput=now.request_throughput.value, cycle_ms=now.step.value, length=now.accept_length.value)
    if gap.gap <= GAP_IS_FINDING:
        return None
    return OpenHypothesis(
        key="finding:gap",
        cause=None,
        claim=f"request speed {now.request_throughput.with_unit()} is {gap.gap:.0%} below accept length / cycle, with "
        f"prefill in its clock; decode alone is {now.throughput.with_unit()}; cycle and break-even are of decode alone",
        answers="exists",
        prediction=Prediction(
            metric="request_throughput_tok_s",
            op="<",
            value=(1.0 - GAP_IS_FINDING) * now.throughput.value,
            concurrency=1,
            value_from=f"{1.0 - GAP_IS_FINDING:.2f} of decode alone",
        ),
        todo=(("compare request speed with accept length over cycle", "medium"),),
        why="a throughput with prefill in the clock must not be compared with one of decode alone",
    )


def fixed_part_ms(ledger: Ledger, now: Measurement) -> float:
    """The part of the cycle that does not grow with steps: by the line through two chains, else the whole cycle."""
    assert now.step is not None
    others = [
        m
        for m in ledger.measurements
        if m.source == "bench"
        and m.spec.on
        and m.spec.topk == 1
        and now.spec.topk == 1
        and m.step is not None
        and m.concurrency == now.concurrency
        and m.spec.draft_steps != now.spec.draft_steps
    ]
    if not others:
        return now.step.value
    other = max(others, key=lambda m: abs(m.spec.draft_steps - now.spec.draft_steps))
    step: Estimate | None = other.step
    assert step is not None
    slope = (step.value - now.step.value) / (other.spec.draft_steps - now.spec.draft_steps)
    return max(now.step.value - max(slope, 0.0) * now.spec.draft_steps, 0.1)


def _standing_cycle_rivals(briefing: Briefing, named: set[str | None]) -> list[OpenHypothesis]:
    """Rivals that no reading excludes for a long cycle: host time between the kernels, and the system's own paths."""
    scene = briefing.scene
    tensor_parallel = scene is not None and str(scene.view.argument("tp_size") or "1") not in ("1", "None")
    standing = [
        (
            "GRAPH-4",
            "host time between the forwards of a cycle",
            "a profile of one cycle: gaps between kernels, against the sum of the kernels",
        ),
        (
            "ENV-1",
            "the all-reduce path of small messages",
            "all-reduce time at 8-64 KB, and the GPU topology",
        )
        if tensor_parallel
        else (
            "ENV-4",
            "the CPUs the server runs on",
            "cycle and baseline step with the process bound to the node of its GPU",
        ),
    ]
    return [
        OpenHypothesis(
            key=f"rival:{cause}:standing",
            cause=cause,
            claim=claim,
            answers="explains",
            about="cycle",
            decides=test,
            todo=((test, "medium"),),
            why="a long cycle has this rival until it is tested",
        )
        for cause, claim, test in standing
        if cause not in named
    ]
