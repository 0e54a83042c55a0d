"""Tests of rivals that can be made here, once a loss is confirmed and no fault that was found explains it.

Load on the launch that runs now comes before another launch. Each test is a prediction that would account for the loss;
a rival without a test that can be made stays open, with what would decide it.
"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.analysis.symptom import Symptom
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.launch import ORIGINAL
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status
from specdoctor.core.moves import Bench, Move, OpenHypothesis
from specdoctor.core.ports import Briefing
from specdoctor.planners.choosing import entropy, priors
from specdoctor.planners.experiments import baseline_change, remedy_change
from specdoctor.planners.hypotheses import explaining
from specdoctor.planners.launch_tests import launch_and_bench
from specdoctor.planners.state import benched, explained, slower_confirmed

SHARE = 0.5
"""What accounts for at least this share of the excess of a cycle over a baseline step explains it (heuristic)."""

PART = 1.05
"""What is faster by more than the spread between two starts was a part of the loss (heuristic)."""


def rival_tests(briefing: Briefing) -> Sequence[Move]:
    """The next test: a hypothesis to open, or a benchmark of the launch that runs now. Empty when none can be made."""
    ledger = briefing.ledger
    if briefing.scene is None or not slower_confirmed(ledger) or explained(ledger):
        return []
    return _expert_traffic(briefing) or _batch(briefing) or _remedied(briefing)


def measured_claims(briefing: Briefing, symptom: Symptom) -> list[OpenHypothesis]:
    """Explanations whose test is among what this run has measured already, whoever chose its launches: no move more.

    A proved fault whose undoing was measured; once a loss is confirmed, rivals, and what is a part of the loss.
    """
    ledger = briefing.ledger
    if briefing.scene is None:
        return []
    claims = [claim for claim in explaining(briefing, symptom) if _test(claim)[1] != ORIGINAL.key]
    if slower_confirmed(ledger) and not explained(ledger):
        moves = (*_expert_traffic(briefing), *_batch(briefing))
        claims += [*(m for m in moves if isinstance(m, OpenHypothesis)), *rival_claims(briefing), *_parts(ledger)]
    told = {
        (h.cause, h.prediction.under)
        for h in ledger.hypotheses.values()
        if h.prediction is not None and h.answers == "explains" and h.prediction.metric != "reading"
    }
    fresh = [claim for claim in claims if claim.answers != "explains" or _test(claim) not in told]
    return [claim for claim in fresh if ledger.by_key(claim.key) is None and _is_measured(ledger, claim.prediction)]


def _test(claim: OpenHypothesis) -> tuple[str | None, str]:
    return claim.cause, claim.prediction.under if claim.prediction is not None else ""


def _parts(ledger: Ledger) -> list[OpenHypothesis]:
    """What does not explain the whole loss, and without which the server is faster than as found: a part of it."""
    concurrency = ledger.settings.concurrency
    found, out = ledger.measured("original", concurrency=concurrency), []
    for h in ledger.hypotheses.values():
        p, seen = h.prediction, _suggested(ledger, h.cause) if h.cause is not None else None
        if h.answers != "explains" or h.status is not Status.FALSIFIED or p is None or seen is None:
            continue
        without = ledger.measured(p.under, concurrency=concurrency)
        if found is None or found.throughput is None or without is None or without.throughput is None:
            continue
        if p.metric != "throughput_tok_s" or without.throughput.low <= PART * found.throughput.high:
            continue
        claim = seen.model_copy(update={"claim": f"{seen.claim}; with {p.under_label} it is faster, and loses still"})
        value, source = found.throughput.value, f"as found, {found.evidence}"
        less = p.model_copy(update={"op": ">", "value": value, "value_from": source})
        out.append(_opened(f"{seen.rival_key}:part", claim, less).model_copy(update={"answers": "exists"}))
    return out


def _is_measured(ledger: Ledger, prediction: Prediction | None) -> bool:
    if prediction is None or prediction.metric == "reading":
        return False
    return ledger.measured(prediction.under, concurrency=prediction.concurrency) is not None


def _suggested(ledger: Ledger, cause: str) -> Observation | None:
    return next((o for o in ledger.observed(cause) if o.stance == "suggests"), None)


def _expert_traffic(briefing: Briefing) -> list[Move]:
    """Several requests at once wake experts as several verified tokens do: how does the baseline step grow with them?

    Separate requests choose their experts apart, so their growth is the most that verified tokens can cost.
    """
    ledger = briefing.ledger
    seen, off = _suggested(ledger, "LOAD-3"), ledger.baseline(1)
    now, change = ledger.measured("original", concurrency=1), baseline_change(briefing)
    if seen is None or off is None or now is None or change is None or off.step is None or now.step is None:
        return []
    tokens, running = now.spec.draft_tokens, ledger.current_launch
    if running is None or running.key != change.key or tokens < 2:
        return []
    key = f"rival:LOAD-3:{seen.check}"
    hypothesis = ledger.by_key(key)
    if hypothesis is None:
        least = off.step.value + SHARE * (now.step.value - off.step.value)
        prediction = Prediction(
            metric="step_ms",
            op=">=",
            value=least,
            under=change.key,
            under_label=f"{change.label}, {tokens} requests at once",
            concurrency=tokens,
            value_from=f"half of the excess of the cycle over the baseline step, {off.evidence}",
        )
        return [_opened(key, seen, prediction)]
    if hypothesis.status is not Status.OPEN or benched(ledger, change.key, tokens):
        return []
    why = "does the target's step grow with the tokens of one forward?"
    return [Bench(launch_key=change.key, concurrency=tokens, hypotheses=(hypothesis.id,), why=why)]


def _batch(briefing: Briefing) -> list[Move]:
    """Speculation that loses for many clients and gains for one loses by the size of the batch.

    The server as found was measured with one client before its first stop.
    """
    ledger = briefing.ledger
    seen = _suggested(ledger, "LOAD-1") or _batch_of_chains(ledger)
    change, running = baseline_change(briefing), ledger.current_launch
    if seen is None or change is None or running is None or ledger.settings.concurrency < 2:
        return []
    key, alone = f"rival:LOAD-1:{seen.check}", ledger.baseline(1)
    if alone is None:
        if running.key != change.key or benched(ledger, change.key, 1):
            return []
        return [Bench(launch_key=change.key, concurrency=1, why="what does one client get without speculation?")]
    if ledger.by_key(key) is not None or alone.throughput is None:
        return []
    prediction = Prediction(
        metric="throughput_tok_s",
        op=">",
        value=alone.throughput.value,
        under="original",
        under_label="as found, one client",
        concurrency=1,
        value_from=f"without speculation, one client, {alone.evidence}",
    )
    claim = f"speculation gains for one client and loses for {ledger.settings.concurrency}: {seen.claim}"
    return [_opened(key, seen.model_copy(update={"claim": claim}), prediction)]


def _batch_of_chains(ledger: Ledger) -> Observation | None:
    """A tree that loses in a batch where its chain loses too: not its width alone, so it may be the batch."""
    tree = _suggested(ledger, "LOAD-2")
    tried = [h for h in ledger.hypotheses.values() if h.cause == "LOAD-2" and h.answers == "explains"]
    if tree is None or not any(h.status is Status.FALSIFIED for h in tried):
        return None
    claim = f"{tree.claim}, and a chain loses for them too"
    return tree.model_copy(update={"cause": "LOAD-1", "claim": claim, "remedy": None})


def _remedied(briefing: Briefing) -> list[Move]:
    """The nearest rival that another launch would undo. The restarts left count."""
    if briefing.ledger.settings.max_restarts - briefing.ledger.restarts < 2:
        return []
    return list(rival_claims(briefing)[:1])


def rival_claims(briefing: Briefing) -> list[OpenHypothesis]:
    """Rivals that another launch would undo, the nearest first, as far as they are not on the list yet.

    Would it bring back what no speculation gives?
    """
    return [claim for _, claim in _claims(briefing)]


def rivals_tie(briefing: Briefing) -> bool:
    """Whether the two nearest rivals stand equally near, so that their order says nothing."""
    near = [rank for rank, _ in _claims(briefing)[:2]]
    return len(near) == 2 and near[0] == near[1]


def _claims(briefing: Briefing) -> list[tuple[int, OpenHypothesis]]:
    ledger = briefing.ledger
    off = ledger.baseline(ledger.settings.concurrency)
    if off is None or off.throughput is None:
        return []
    out: dict[str, tuple[int, OpenHypothesis]] = {}
    for o in sorted(ledger.observed(), key=lambda o: _nearest(o, ledger.settings.concurrency)):
        if o.stance != "suggests" or o.remedy is None or ledger.by_key(o.rival_key) is not None:
            continue
        change = remedy_change(briefing, o.remedy)
        if change is None or change.is_original:
            continue
        prediction = Prediction(
            metric="throughput_tok_s",
            op=">=",
            value=off.throughput.value,
            under=change.key,
            under_label=o.remedy.label,
            concurrency=ledger.settings.concurrency,
            value_from=f"without speculation, {off.evidence}",
        )
        key = o.rival_key
        out.setdefault(key, (_nearest(o, ledger.settings.concurrency), _opened(key, o, prediction)))
    told = priors(ledger, [claim.cause for _, claim in out.values()])
    # Equally near ones: what tells most for the minutes of a launch, which are the same for all.
    return sorted(out.values(), key=lambda found: (found[0], -entropy(told[found[1].cause])))


def _nearest(o: Observation, concurrency: int) -> int:
    """What grows with the load first where there is much of it; then the drafter, the engine, and the machine last."""
    family = (o.cause or "").partition("-")[0]
    order = ("LOAD", "MIS", "CFG", "GRAPH", "ENV") if concurrency > 1 else ("MIS", "CFG", "GRAPH", "ENV", "LOAD")
    return order.index(family) if family in order else len(order)


def _opened(key: str, o: Observation, prediction: Prediction) -> OpenHypothesis:
    return OpenHypothesis(
        key=key,
        cause=o.cause,
        claim=o.claim,
        answers="explains",
        about=o.about,
        prediction=prediction,
        decides=o.decides,
        todo=launch_and_bench(prediction.under_label, "medium"),
        why=f"check {o.check}",
    )
