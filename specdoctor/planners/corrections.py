"""Does what was read to be wrong in the drafter's config.json come right? Corrected in a copy, launched and measured.

Only where restarts were allowed beforehand: the cause is known by then, and what is left is to see its repair work.
"""

from __future__ import annotations

from specdoctor.analysis.after_repair import chains, expected
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Metric, Prediction
from specdoctor.core.launch import LaunchChange
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Risk, Status
from specdoctor.core.moves import OpenHypothesis
from specdoctor.core.ports import Briefing
from specdoctor.drafter.correction import Correction, correction
from specdoctor.drafter.in_scene import alone_as_trained
from specdoctor.planners.launch_tests import as_found
from specdoctor.planners.state import explained
from specdoctor.planners.trained_limits import OTHER_TEXTS

METRICS: tuple[Metric, ...] = ("accept_length", "throughput_tok_s")
WORDS = {"accept_length": "accept length", "throughput_tok_s": "throughput"}


def correction_of(briefing: Briefing) -> Correction | None:
    """The correction for the faults that explain the accept length here."""
    ledger, scene = briefing.ledger, briefing.scene
    if scene is None or not explained(ledger, "accept_length"):
        return None
    told = {h.cause for h in ledger.hypotheses.values() if h.answers == "explains" and h.status is Status.SUPPORTED}
    found = [o for o in ledger.observed() if o.cause in told]
    return correction(scene.view, found, kept=ledger.settings.keep_corrected)


def repair_claims(briefing: Briefing) -> list[OpenHypothesis]:
    """What the corrected launch is expected to bring, before it is made: accept length, then throughput.

    By the test of the drafter alone where there is one; without one, more than as found. Nothing where the expected
    gain could not be told from what was found, or the restarts are used.
    """
    ledger = briefing.ledger
    found = correction_of(briefing)
    now = ledger.measured("original", concurrency=ledger.settings.concurrency)
    if found is None or found.change is None or now is None or not ledger.granted(Risk.RESTART):
        return []
    fresh = all(ledger.by_key(key_of(found, metric)) is None for metric in METRICS)
    if fresh and ledger.settings.max_restarts - ledger.restarts < 2:
        return []
    claims = [_claim(briefing, found, found.change, now, metric) for metric in METRICS]
    return [claim for claim in claims if claim is not None] if claims[0] is not None else []


def key_of(found: Correction, metric: Metric) -> str:
    return f"repairs:{found.causes[0]}:{metric}"


def corrected_change(briefing: Briefing) -> tuple[LaunchChange, tuple[str, ...]] | None:
    """The corrected launch with the hypotheses that it tests; None where none is open."""
    found = correction_of(briefing)
    if found is None or found.change is None:
        return None
    claims = [briefing.ledger.by_key(key_of(found, metric)) for metric in METRICS]
    ids = tuple(h.id for h in claims if h is not None and h.status is Status.OPEN)
    return (found.change, ids) if ids else None


def _claim(
    briefing: Briefing, found: Correction, change: LaunchChange, now: Measurement, metric: Metric
) -> OpenHypothesis | None:
    prediction = _prediction(briefing, change, now, metric)
    if prediction is None:
        return None
    return OpenHypothesis(
        key=key_of(found, metric),
        cause=found.causes[0],
        claim=f"with {found.words} the {WORDS[metric]} comes to {_amount(prediction)}",
        answers="repairs",
        about="accept_length",
        prediction=prediction,
        priority="medium",
        todo=(("start it on a copy of the drafter's folder with its config.json corrected", "medium"),
              ("benchmark it with the same prompts", "medium")),
        why="a cause that was read is repaired once the repair was measured",
    )  # fmt: skip


def _amount(prediction: Prediction) -> str:
    if prediction.most is None:
        return f"more than {prediction.value:.4g}, as found"
    return f"{prediction.value:.4g} to {prediction.most:.4g}"


def _prediction(briefing: Briefing, change: LaunchChange, now: Measurement, metric: Metric) -> Prediction | None:
    ledger = briefing.ledger
    found_now = now.accept_length if metric == "accept_length" else now.throughput
    if found_now is None:
        return None
    told = _expected(briefing, now.spec.draft_steps, metric)
    if told is not None and metric == "accept_length" and told.low <= found_now.high:
        return None
    return Prediction(
        metric=metric,
        op=">" if told is None else "within",
        value=found_now.value if told is None else told.low,
        most=None if told is None else told.high,
        under=change.key,
        under_label=change.label,
        concurrency=ledger.settings.concurrency,
        value_from=as_found(now) if told is None else told.estimator,
        setting=now.spec,
    )


def _expected(briefing: Briefing, steps: int, metric: Metric) -> Estimate | None:
    """By the drafter alone as it was trained; its texts are not those of the run, so fewer drafts may be accepted."""
    ledger, scene = briefing.ledger, briefing.scene
    tested = alone_as_trained(scene) if scene is not None and ledger.settings.concurrency == 1 else None
    if tested is None:
        return None
    at = next((e for e in expected(tested.conditional, chains(ledger), harder=OTHER_TEXTS) if e.steps == steps), None)
    if at is None:
        return None
    origin = f"the drafter alone fed {', '.join(tested.states)}, {tested.where}; other texts may accept up to "
    origin += f"{OTHER_TEXTS:.0%} fewer drafts"
    if metric == "throughput_tok_s":
        return at.throughput.model_copy(update={"estimator": f"{origin}; over the measured cycle"})
    low, high = at.lengths
    n = at.throughput.n
    return Estimate(value=at.accept_length, low=low, high=high, unit="tokens/cycle", estimator=origin, n=n)
