"""A run as one JSON document, `specdoctor.run/1`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from specdoctor.analysis.cycle import estimated_break_even, estimated_break_even_cycle
from specdoctor.analysis.recall import RecalledFigure, recalled_figures
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Claim, Hypothesis
from specdoctor.core.ledger import Ledger, left_to_do
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import DECIDED, Frozen, Role, Status, Verdict

SCHEMA: Literal["specdoctor.run/1"] = "specdoctor.run/1"
Interval = tuple[float, float]


class CauseEntry(Frozen):
    """A cause that the verdict names. `supported` cites evidence; `decides` says what would settle a suspected one."""

    cause: str
    status: Literal["supported", "suspected"]
    role: Role
    claim: str
    evidence: tuple[str, ...]
    decides: str


class HypothesisEntry(Frozen):
    """A claim of the run, what it predicted before the test, and what came of it."""

    id: str
    cause: str | None
    claim: str
    predicts: str | None
    status: Status
    because: str
    evidence: tuple[str, ...]


class MeasurementEntry(Frozen):
    """Figures of one launch: tok/s, tokens per target forward with the bonus token, ms per target forward.

    Without speculation `draft_steps` is 0 and `accept_length` 1.0. Intervals are at 95 %.
    """

    id: str
    launch: str
    launch_key: str
    draft_steps: int
    topk: int
    draft_tokens: int
    concurrency: int
    throughput_tok_s: float | None
    throughput_interval: Interval | None
    accept_length: float | None
    accept_length_interval: Interval | None
    step_ms: float | None
    step_interval: Interval | None
    requests: int
    failed: int
    source: Literal["bench", "traffic", "log", "control"]
    estimator: str
    flags: tuple[str, ...]
    evidence: str


class RecommendationEntry(Frozen):
    """The launch line to paste, the way back, and what it is expected to bring (`basis` says from where)."""

    launch: str
    rollback: str
    expected: dict[str, JsonValue]
    basis: Literal["measured", "predicted", "typed"]
    why: str


class ClaimEntry(Frozen):
    """A figure that somebody typed. `tested`: a hypothesis about it was decided; `other-state`: a memory of another
    state of the system; `open`: neither.
    """

    text: str
    metric: str
    role: str
    value: float
    recalled_at: str | None
    status: Literal["other-state", "tested", "open"]
    why: str


class BreakEvenEntry(Frozen):
    """Both sides of break-even for the launch as found, from measured figures: what this cycle needs in tokens a cycle
    (bonus token included), and the longest cycle (ms) that this accept length can bear.
    """

    accept_length: float
    accept_length_interval: Interval | None
    cycle_ms: float
    cycle_interval: Interval | None
    measured_accept_length: float
    measured_cycle_ms: float
    baseline_tok_s: float
    estimator: str
    evidence: tuple[str, ...]


class ByHandEntry(Frozen):
    """A launch that is left to a person: the line to paste on the host, and the one to undo it."""

    launch: str
    launch_key: str
    start: str
    back: str


class Cost(Frozen):
    """What the run took: starts of the server (the restoring ones too), seconds without a server, seconds in all."""

    restarts: int
    downtime_s: float
    wall_s: float
    llm_tokens: int = 0


class ControlEntry(Frozen):
    """The original before and after the run: throughput after over before; `equal` null if it cannot be said."""

    before: str
    after: str
    equal: bool | None
    ratio: float | None
    ratio_interval: Interval | None
    text: str


class RunDocument(Frozen):
    """A finished or unfinished run.

    `restored`: null if nothing was ever changed, true if the original is back, equal in all recorded parts, and as fast
    as before where that could be measured (`control`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_id: Literal["specdoctor.run/1"] = Field(default=SCHEMA, alias="schema")
    run: str
    target: str
    verdict: Verdict
    headline: str
    finished: bool
    causes: tuple[CauseEntry, ...]
    hypotheses: tuple[HypothesisEntry, ...]
    measurements: tuple[MeasurementEntry, ...]
    recommendation: RecommendationEntry | None
    missing: tuple[str, ...]
    claims: tuple[ClaimEntry, ...]
    break_even: BreakEvenEntry | None
    by_hand: tuple[ByHandEntry, ...] = ()
    cost: Cost
    restored: bool | None
    control: ControlEntry | None


def run_document(ledger: Ledger) -> RunDocument:
    """The document of a run; raises LedgerError if it has not started.

    Without a verdict it is `not-enough-evidence`, and `missing` names what would decide the open hypotheses.
    """
    reached = ledger.verdict
    advice = reached.recommendation if reached else None
    return RunDocument(
        run=ledger.run,
        target=ledger.started.target if ledger.started else "",
        verdict=reached.verdict if reached else Verdict.NOT_ENOUGH_EVIDENCE,
        headline=reached.headline if reached else "",
        finished=ledger.ended is not None,
        causes=tuple(
            CauseEntry(
                cause=c.cause, status=c.status, role=c.role, claim=c.claim, evidence=c.evidence, decides=c.decides
            )
            for c in (reached.causes if reached else ())
        ),
        hypotheses=tuple(_hypothesis(h) for h in ledger.hypotheses.values()),
        measurements=tuple(_measurement(m) for m in ledger.measurements),
        recommendation=RecommendationEntry(
            launch=advice.launch,
            rollback=advice.rollback,
            expected=advice.expected,
            basis=advice.basis,
            why=advice.why,
        )
        if advice
        else None,
        missing=reached.missing if reached else _undecided(ledger),
        claims=(*(_typed(c, ledger) for c in ledger.claims), *(_recalled(f) for f in recalled_figures(ledger))),
        break_even=_break_even(ledger),
        by_hand=tuple(
            ByHandEntry(launch=left.change.label, launch_key=left.change.key, start=left.start, back=left.back)
            for left in left_to_do(ledger)
            if left.change is not None
        ),
        cost=Cost(
            restarts=ledger.restarts,
            downtime_s=round(ledger.downtime_s, 3),
            wall_s=round(max(ledger.last_at - ledger.first_at, 0.0), 3),
        ),
        restored=ledger.restored,
        control=_control(ledger),
    )


def run_json(ledger: Ledger) -> dict[str, JsonValue]:
    """`run_document` as plain JSON values, with the published key names."""
    document: dict[str, JsonValue] = run_document(ledger).model_dump(mode="json", by_alias=True)
    return document


def _typed(claim: Claim, ledger: Ledger) -> ClaimEntry:
    """A typed figure counts as tested when a decided hypothesis answers whether the symptom is true here."""
    decided = [
        h
        for h in ledger.hypotheses.values()
        if h.answers == "symptom" and h.status in DECIDED and h.prediction and h.prediction.metric == claim.metric
    ]
    why = ", ".join(f"{h.id} {h.status.value}" for h in decided)
    return ClaimEntry(
        text=claim.text,
        metric=claim.metric,
        role=claim.role,
        value=claim.value,
        recalled_at=None,
        status="tested" if decided else "open",
        why=why or "no hypothesis about it was decided",
    )


def _recalled(figure: RecalledFigure) -> ClaimEntry:
    claim = figure.claim
    return ClaimEntry(
        text=claim.text,
        metric=claim.metric,
        role=claim.role,
        value=claim.value,
        recalled_at=claim.recalled_at or None,
        status=figure.status,
        why=figure.why,
    )


def _break_even(ledger: Ledger) -> BreakEvenEntry | None:
    """None unless the launch as found speculates, and it and a baseline were measured with one client."""
    now, off = ledger.measured("original", concurrency=1), ledger.baseline(1)
    if now is None or off is None or not now.spec.on:
        return None
    if now.step is None or now.accept_length is None or off.throughput is None:
        return None
    length = estimated_break_even(now.step, off.throughput)
    cycle = estimated_break_even_cycle(now.accept_length, off.throughput)
    return BreakEvenEntry(
        accept_length=length.value,
        accept_length_interval=_interval(length),
        cycle_ms=cycle.value,
        cycle_interval=_interval(cycle),
        measured_accept_length=now.accept_length.value,
        measured_cycle_ms=now.step.value,
        baseline_tok_s=off.throughput.value,
        estimator=f"{length.estimator}; {cycle.estimator}",
        evidence=(now.evidence, off.evidence),
    )


def _control(ledger: Ledger) -> ControlEntry | None:
    c = ledger.control
    if c is None:
        return None
    return ControlEntry(
        before=c.before,
        after=c.after,
        equal=c.equal,
        ratio=c.ratio.value if c.ratio else None,
        ratio_interval=_interval(c.ratio),
        text=c.text,
    )


def _undecided(ledger: Ledger) -> tuple[str, ...]:
    return tuple(
        f"{h.id}: {h.decides}"
        for h in ledger.hypotheses.values()
        if h.status in (Status.OPEN, Status.PARKED) and h.decides
    )


def _hypothesis(h: Hypothesis) -> HypothesisEntry:
    return HypothesisEntry(
        id=h.id,
        cause=h.cause,
        claim=h.claim,
        predicts=h.prediction.sentence if h.prediction else None,
        status=h.status,
        because=h.because,
        evidence=h.evidence,
    )


def _measurement(m: Measurement) -> MeasurementEntry:
    accept_length = m.accept_length.value if m.accept_length else None
    return MeasurementEntry(
        id=m.id,
        launch=m.launch,
        launch_key=m.launch_key,
        draft_steps=m.spec.draft_steps if m.spec.on else 0,
        topk=m.spec.topk if m.spec.on else 0,
        draft_tokens=m.spec.draft_tokens if m.spec.on else 0,
        concurrency=m.concurrency,
        throughput_tok_s=m.throughput.value if m.throughput else None,
        throughput_interval=_interval(m.throughput),
        accept_length=accept_length if m.spec.on else 1.0,
        accept_length_interval=_interval(m.accept_length) if m.spec.on else None,
        step_ms=m.step.value if m.step else None,
        step_interval=_interval(m.step),
        requests=m.requests,
        failed=m.failed,
        source=m.source,
        estimator=estimators(m),
        flags=m.flags,
        evidence=m.evidence,
    )


def _interval(estimate: Estimate | None) -> Interval | None:
    return None if estimate is None or estimate.is_typed else (estimate.low, estimate.high)


def estimators(m: Measurement) -> str:
    """How each figure of a measurement was obtained, with the number of samples behind it."""
    parts = [
        f"{name}: {e.estimator}" + (f" (n={e.n})" if e.n is not None else "")
        for name, e in (("throughput", m.throughput), ("accept length", m.accept_length), ("step", m.step))
        if e is not None and (name != "accept length" or m.spec.on)
    ]
    if not m.spec.on:
        parts.append("accept length: 1 by definition, no speculation")
    return "; ".join(parts)
