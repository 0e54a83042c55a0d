"""A run as one JSON document, `specdoctor.run/1`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from specdoctor.analysis.comparisons import Compared, comparisons
from specdoctor.analysis.cycle import (
    estimated_break_even,
    estimated_break_even_cycle,
    identity_gap,
    required_accept_length,
)
from specdoctor.analysis.state_change import state_change
from specdoctor.analysis.symptom import read_symptom
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.ledger import Ledger, left_to_do
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Frozen, Status, Verdict
from specdoctor.core.software import software_words
from specdoctor.render.json_claims import claim_entries
from specdoctor.render.json_entries import (
    AfterRepairEntry,
    BreakEvenEntry,
    ByHandEntry,
    CauseEntry,
    ClaimEntry,
    ComparisonEntry,
    ControlEntry,
    Cost,
    HypothesisEntry,
    Interval,
    MeasurementEntry,
    RecommendationEntry,
    StateChangeEntry,
    StateSuspectEntry,
)

SCHEMA: Literal["specdoctor.run/1"] = "specdoctor.run/1"


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
    after_repair: tuple[AfterRepairEntry, ...] = ()
    missing: tuple[str, ...]
    claims: tuple[ClaimEntry, ...]
    break_even: BreakEvenEntry | None
    comparisons: tuple[ComparisonEntry, ...] = ()
    state_change: StateChangeEntry | None = None
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
            then=advice.then,
            first=advice.first,
            where=advice.where,
        )
        if advice
        else None,
        after_repair=tuple(
            AfterRepairEntry(
                draft_steps=one.steps,
                accept_length=round(one.accept_length, 4),
                throughput_tok_s=one.throughput.value,
                throughput_interval=(one.throughput.low, one.throughput.high),
                estimator=one.throughput.estimator,
            )
            for one in (reached.after_repair if reached else ())
        ),
        missing=reached.missing if reached else _undecided(ledger),
        claims=claim_entries(ledger),
        break_even=_break_even(ledger),
        comparisons=tuple(_comparison(c) for c in comparisons(ledger)),
        state_change=_state_change(ledger),
        by_hand=tuple(
            ByHandEntry(launch=left.change.label, launch_key=left.change.key, start=left.start, back=left.back)
            for left in left_to_do(ledger)
            if left.change is not None
        ),
        cost=Cost(
            restarts=ledger.restarts,
            downtime_s=round(ledger.downtime_s, 3),
            still_down=ledger.still_down,
            wall_s=round(max(ledger.last_at - ledger.first_at, 0.0), 3),
            llm_tokens=ledger.model_tokens,
            llm_calls=len(ledger.model_calls),
            llm_cost=ledger.model_cost if ledger.model_calls else None,
        ),
        restored=ledger.restored,
        control=_control(ledger),
    )


def run_json(ledger: Ledger) -> dict[str, JsonValue]:
    """`run_document` as plain JSON values, with the published key names."""
    document: dict[str, JsonValue] = run_document(ledger).model_dump(mode="json", by_alias=True)
    return document


def _break_even(ledger: Ledger) -> BreakEvenEntry | None:
    """None unless the launch as found speculates, and it and a baseline were measured with one client."""
    now, off = ledger.measured("original", concurrency=1), ledger.baseline(1)
    if now is None or off is None or not now.spec.on:
        return None
    if now.step is None or now.accept_length is None or off.throughput is None:
        return None
    length = estimated_break_even(now.step, off.throughput)
    cycle = estimated_break_even_cycle(now.accept_length, off.throughput)
    target = read_symptom(ledger.settings.symptom).at(1).figure("throughput_tok_s", "wished")
    steps = now.spec.draft_steps
    need = required_accept_length(target=target, cycle_ms=now.step.value, steps=steps) if target is not None else None
    return BreakEvenEntry(
        accept_length=length.value,
        accept_length_interval=_interval(length),
        cycle_ms=cycle.value,
        cycle_interval=_interval(cycle),
        measured_accept_length=now.accept_length.value,
        measured_cycle_ms=now.step.value,
        baseline_tok_s=off.throughput.value,
        maximum_accept_length=steps + 1,
        target_tok_s=target,
        accept_length_for_target=need.accept_length if need is not None else None,
        feasible=need.obstacle is None if need is not None else None,
        why=need.obstacle if need is not None else None,
        estimator=f"{length.estimator}; {cycle.estimator}",
        evidence=(now.evidence, off.evidence),
    )


def _comparison(c: Compared) -> ComparisonEntry:
    return ComparisonEntry(
        about=c.about,
        first=c.first,
        second=c.second,
        first_software=c.first_software,
        second_software=c.second_software,
        throughput_ratio=c.throughput.value,
        throughput_ratio_interval=_interval(c.throughput),
        cycle_ratio=c.cycle.value if c.cycle else None,
        cycle_ratio_interval=_interval(c.cycle),
        outcome=c.outcome,
        visible=c.visible,
        at_stake=c.at_stake,
        starts_needed=c.starts_needed,
        text=c.words,
        evidence=c.evidence,
    )


def _state_change(ledger: Ledger) -> StateChangeEntry | None:
    found = state_change(ledger)
    if found is None:
        return None
    return StateChangeEntry(
        baseline_step_factor=found.baseline_step.value,
        baseline_step_interval=_interval(found.baseline_step),
        cycle_factor=found.cycle.value,
        cycle_interval=_interval(found.cycle),
        shape=found.shape,
        since=found.since,
        suspects=tuple(StateSuspectEntry.model_validate(s.model_dump()) for s in found.suspects),
        text=found.words,
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
        request_throughput_tok_s=m.request_throughput.value if m.request_throughput else None,
        request_throughput_interval=_interval(m.request_throughput),
        identity_gap=_gap(m),
        accept_length=accept_length if m.spec.on else 1.0,
        accept_length_interval=_interval(m.accept_length) if m.spec.on else None,
        step_ms=m.step.value if m.step else None,
        step_interval=_interval(m.step),
        requests=m.requests,
        failed=m.failed,
        source=m.source,
        estimator=estimators(m),
        flags=m.flags,
        software=software_words(m.fingerprint),
        evidence=m.evidence,
    )


def _gap(m: Measurement) -> float | None:
    """Of the request speed of one client against accept length over cycle."""
    if m.concurrency != 1 or m.request_throughput is None or m.step is None:
        return None
    length = m.accept_length.value if m.accept_length is not None and m.spec.on else 1.0
    return identity_gap(throughput=m.request_throughput.value, cycle_ms=m.step.value, length=length).gap


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
