"""Evidence against predictions: the only place where a hypothesis is supported or falsified.

Every rule here is a pure function of the ledger. A prediction decides only when the whole interval of what was
measured lies on one side of it; anything else leaves the hypothesis open.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from specdoctor.analysis.launch_spread import launch_spread, same_starts
from specdoctor.analysis.stats import two_states
from specdoctor.core import events as ev
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Hypothesis, Prediction
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Status
from specdoctor.core.server import SpecSetting

MATERIAL = 0.05
"""What undoing a fault must gain at least to count as a gain (heuristic)."""

NORMAL_95 = 1.96

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


def judge(ledger: Ledger, *, at: float) -> tuple[ev.HypothesisClosed, ...]:
    """What the evidence so far decides, for every hypothesis that is still open."""
    out: list[ev.HypothesisClosed] = []
    for hypothesis in ledger.hypotheses.values():
        if hypothesis.status is not Status.OPEN:
            continue
        decided = _by_bound(ledger, hypothesis, at) or _by_reading(ledger, hypothesis, at)
        decided = decided or _by_starts(ledger, hypothesis, at)
        decided = decided or _by_failed_launch(ledger, hypothesis, at) or _by_measurement(ledger, hypothesis, at)
        if decided is not None:
            out.append(decided)
    return tuple(out)


def _close(
    hypothesis: Hypothesis, status: Status, because: str, evidence: tuple[str, ...], at: float
) -> ev.HypothesisClosed:
    return ev.HypothesisClosed(at=at, hypothesis=hypothesis.id, status=status, because=because, evidence=evidence)


def _by_bound(ledger: Ledger, hypothesis: Hypothesis, at: float) -> ev.HypothesisClosed | None:
    """A bound that excludes the claim falsifies it without a launch, under its stated assumptions.

    A bound from typed figures is only as good as what was typed: it is said beside the claim and decides nothing.
    """
    for bound in ledger.bounds:
        if bound.basis == "measured" and bound.refuted and hypothesis.id in bound.refutes:
            because = f"{bound.text}; assuming {'; '.join(bound.assumptions)}"
            return _close(hypothesis, Status.FALSIFIED, because, (bound.evidence,), at)
    return None


def _by_reading(ledger: Ledger, hypothesis: Hypothesis, at: float) -> ev.HypothesisClosed | None:
    """A reading decides that a fault is there (or not); that it explains the symptom only where the check says so."""
    prediction = hypothesis.prediction
    if prediction is None or prediction.metric != "reading":
        return None
    for observed in ledger.observations:
        o = observed.observation
        other = o.cause != hypothesis.cause and (hypothesis.cause is not None or o.stance == "refutes")
        if other or o.reading is None or o.reading.subject != prediction.subject:
            continue
        if o.stance == "supports" and (hypothesis.answers == "exists" or o.explains):
            return _close(hypothesis, Status.SUPPORTED, o.claim, (observed.evidence,), at)
        if o.stance == "refutes":
            return _close(hypothesis, Status.FALSIFIED, o.claim, (observed.evidence,), at)
    return None


def _by_starts(ledger: Ledger, hypothesis: Hypothesis, at: float) -> ev.HypothesisClosed | None:
    """Equal starts that fall into two speeds decide that they differ; that they did not yet decides nothing."""
    prediction = hypothesis.prediction
    if prediction is None or prediction.metric != "start_states":
        return None
    found = [m for m in same_starts(ledger) if m.throughput is not None]
    speeds = [m.throughput.value for m in found if m.throughput is not None]
    states = two_states(speeds)
    if states is None:
        return None
    told = ", ".join(f"{speed:.4g}" for speed in sorted(speeds))
    because = f"{len(speeds)} starts of the same launch fall into two speeds: {told} tok/s"
    return _close(hypothesis, Status.SUPPORTED, because, tuple(m.evidence for m in found), at)


def _by_failed_launch(ledger: Ledger, hypothesis: Hypothesis, at: float) -> ev.HypothesisClosed | None:
    """A launch that does not come up leaves its claim undecided: it is parked with the reason, not falsified."""
    prediction = hypothesis.prediction
    if prediction is None or prediction.metric in ("reading", "start_states"):
        return None
    for launch in reversed(ledger.relaunches):
        if launch.change.key != prediction.under:
            continue
        if launch.outcome.status in ("failed", "timeout"):
            because = f"the launch did not come up: {launch.outcome.reason}"
            return _close(hypothesis, Status.PARKED, because, (launch.evidence,), at)
        same = _same_software(ledger, launch.software, whole=launch.change.image is not None)
        if launch.change.other_software and same:
            because = f"the launch came up with the engine that was found ({same})"
            return _close(hypothesis, Status.PARKED, because, (launch.evidence,), at)
        if prediction.setting is not None and launch.spec is not None and not _same(launch.spec, prediction.setting):
            because = f"the launch came up with {launch.spec.label} in force, not {prediction.setting.label}"
            return _close(hypothesis, Status.PARKED, because, (launch.evidence,), at)
    return None


def _same_software(ledger: Ledger, software: Mapping[str, str], *, whole: bool) -> str:
    """The engine's version and commit where another installation turned out to hold the same one; else nothing.

    `whole`: its other packages are another's too, as in another image, and count as well.
    """
    found = ledger.measured("original")
    engine = {key: value for key, value in software.items() if key == "engine.version" or " at " in value}
    counted = software if whole else engine
    if found is None or any(found.fingerprint.get(key) != value for key, value in counted.items()):
        return ""
    return ", ".join(engine.values()) or "nothing tells its version"


def _same(found: SpecSetting, wanted: SpecSetting) -> bool:
    """Whether a launch has the speculation in force that was to be tested."""
    if not wanted.on or not found.on:
        return found.on == wanted.on
    return (found.draft_steps, found.topk, found.draft_tokens) == (wanted.draft_steps, wanted.topk, wanted.draft_tokens)


def _by_measurement(ledger: Ledger, hypothesis: Hypothesis, at: float) -> ev.HypothesisClosed | None:
    prediction = hypothesis.prediction
    if prediction is None or prediction.value is None or prediction.op not in (*_COMPARE, "within"):
        return None
    found = ledger.measured(prediction.under, concurrency=prediction.concurrency)
    figure = metric_of(found, prediction.metric) if found else None
    if found is None or figure is None:
        return None
    if prediction.op == "within":
        return _within(ledger, hypothesis, prediction, found, figure, at)
    reference = _reference(ledger, prediction)
    spread = launch_spread(ledger).reckoned if launched_apart(ledger, prediction) else 0.0
    outcome = compare(figure, prediction, launch_sd=spread, reference=reference)
    if outcome is None:
        return None
    because = f"predicted {prediction.op} {prediction.value:.4g}, measured {figure.with_unit()}, n={figure.n}"
    evidence = (found.evidence, *_reference_evidence(ledger, prediction))
    short = _falls_short(ledger, hypothesis, found) if outcome else None
    if short is not None:
        because = f"{because}, but {short[0]}"
        evidence = (*evidence, short[1])
        outcome = False
    status = Status.SUPPORTED if outcome else Status.FALSIFIED
    return _close(hypothesis, status, because, evidence, at)


def _within(
    ledger: Ledger, hypothesis: Hypothesis, prediction: Prediction, found: Measurement, figure: Estimate, at: float
) -> ev.HypothesisClosed | None:
    """An expected range already holds what is not known of the expectation: met where the figure lies in it, missed
    where its whole interval lies outside, and else undecided.
    """
    assert prediction.value is not None
    assert prediction.most is not None
    met = prediction.value <= figure.value <= prediction.most
    if not met and figure.high >= prediction.value and figure.low <= prediction.most:
        return None
    because = f"predicted {prediction.value:.4g} to {prediction.most:.4g}, measured {figure.with_unit()}, n={figure.n}"
    status = Status.SUPPORTED if met else Status.FALSIFIED
    return _close(hypothesis, status, because, (found.evidence, *_reference_evidence(ledger, prediction)), at)


def _reference_evidence(ledger: Ledger, prediction: Prediction) -> tuple[str, ...]:
    """The evidence a threshold was taken from, where it was measured in this run."""
    words = prediction.value_from.replace(",", " ").split()
    return tuple(w for w in words if w in ledger.evidence)


def _falls_short(ledger: Ledger, hypothesis: Hypothesis, found: Measurement) -> tuple[str, str] | None:
    """A typed threshold can be too low: what explains a loss must beat the server as found, and reach the baseline."""
    prediction = hypothesis.prediction
    if hypothesis.answers != "explains" or found.throughput is None or prediction is None:
        return None
    if prediction.under == "original" or prediction.metric != "throughput_tok_s":
        return None
    before, off = ledger.measured("original", concurrency=found.concurrency), ledger.baseline(found.concurrency)
    now = found.throughput.value
    as_found = before.throughput if before is not None else None
    without = off.throughput if off is not None else None
    if before is not None and as_found is not None and now <= (1 + MATERIAL) * as_found.value:
        return f"not faster than as found, {as_found.with_unit()}", before.evidence
    if off is not None and without is not None and now < (1 - MATERIAL) * without.value:
        return f"below {without.with_unit()} without speculation", off.evidence
    return None


def _reference(ledger: Ledger, prediction: Prediction) -> Estimate | None:
    """The measured figure that a threshold was taken from, with its own interval."""
    cited = _reference_evidence(ledger, prediction)
    found = next((m for m in reversed(ledger.measurements) if m.evidence in cited), None)
    return metric_of(found, prediction.metric) if found is not None else None


def launched_apart(ledger: Ledger, prediction: Prediction) -> bool:
    """Whether the threshold was measured on another start than the one predicted about."""
    return bool(_reference_evidence(ledger, prediction)) or prediction.under != "original"


def metric_of(measurement: Measurement, metric: str) -> Estimate | None:
    """A measurement's figure by the name a prediction uses."""
    figures = {
        "throughput_tok_s": measurement.throughput,
        "request_throughput_tok_s": measurement.request_throughput,
        "accept_length": measurement.accept_length,
        "step_ms": measurement.step,
    }
    return figures.get(metric)


def compare(
    figure: Estimate, prediction: Prediction, *, launch_sd: float, reference: Estimate | None = None
) -> bool | None:
    """True or False where the whole interval lies on one side of the threshold, else None.

    A threshold that was itself measured (`reference`) brings its own interval; both are added as independent.
    Between two starts of a server the same setting differs by chance too: `launch_sd`, the relative spread between
    starts (0: one start), widens a speed's interval.
    """
    assert prediction.value is not None
    below, above = figure.value - figure.low, figure.high - figure.value
    if reference is not None:
        below = (below**2 + (reference.high - reference.value) ** 2) ** 0.5
        above = (above**2 + (reference.value - reference.low) ** 2) ** 0.5
    if launch_sd and prediction.metric in ("throughput_tok_s", "step_ms"):
        half = NORMAL_95 * launch_sd * figure.value
        below, above = (below**2 + half**2) ** 0.5, (above**2 + half**2) ** 0.5
    low, high = figure.value - below, figure.value + above
    test = _COMPARE[prediction.op]
    ends = {test(low, prediction.value), test(high, prediction.value)}
    return ends.pop() if len(ends) == 1 else None
