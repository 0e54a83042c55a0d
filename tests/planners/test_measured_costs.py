"""Idle positions and a target that is too fast, put on the list by what was measured alone."""

from __future__ import annotations

import pytest

from specdoctor.app.judging import judge
from specdoctor.core import events as ev
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Hypothesis, Observation, Prediction, Remedy
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Status
from specdoctor.core.moves import OpenHypothesis
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import SpecSetting
from specdoctor.planners.fixed_cost import fixed_cost
from specdoctor.planners.idle_positions import pays


def chain(steps: int) -> SpecSetting:
    return SpecSetting(algorithm="EAGLE3", draft_steps=steps, topk=1, draft_tokens=steps + 1)


def share(value: float) -> Estimate:
    return Estimate(value=value, low=value, high=value, unit="fraction", estimator="counters of all clients")


def measured(steps: int, *shares: float, step_ms: float = 10.0, name: str = "1", spread: float = 0.02) -> Measurement:
    spec = chain(steps) if steps else SpecSetting()
    conditional = [b / a for a, b in zip((1.0, *shares), shares, strict=False)]
    step = Estimate(
        value=step_ms, low=step_ms * (1 - spread), high=step_ms * (1 + spread), unit="ms", estimator="decode", n=12
    )
    return Measurement(
        id=f"M{name}", launch="as found", launch_key="original" if steps else "off", spec=spec, concurrency=1,
        source="bench", requests=12, conditional=tuple(map(share, conditional)), step=step, evidence=f"E{name}",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "shares", "kept"),
    [
        (12, (0.80, 0.68, 0.58, 0.50, 0.25, 0.15), 5),  # later positions were reached too seldom to have a rate
        (5, (0.76, 0.71, 0.63, 0.53, 0.34), None),
        (3, (0.77, 0.69, 0.58), None),
        (7, (0.65, 0.53, 0.38, 0.28, 0.25, 0.21, 0.18), None),  # one idle position is no reason to restart
        (5, (0.46, 0.17, 0.06, 0.02, 0.01), None),  # the drafter is in question
        (5, (0.9, 0.8), None),  # too few cycles got further: nothing is known of the rest
        (4, (), None),
    ],
)
def test_positions_that_pay(steps: int, shares: tuple[float, ...], kept: int | None) -> None:
    assert pays(measured(steps, *shares)) == kept


def ledger_of(now: Measurement, off: Measurement) -> Ledger:
    claim = Prediction(metric="throughput_tok_s", op=">", value=1.0, under="off")
    slower = Hypothesis(id="H1", key="symptom:slower", cause=None, claim="c", answers="symptom", prediction=claim)
    return fold(
        [
            ev.RunStarted(run="r", target="t", settings=RunSettings(), tool_version="0"),
            *(ev.EvidenceRecorded(evidence=f"E{i}", action=None, source="s", summary="s") for i in (1, 2)),
            ev.HypothesisOpened(hypothesis=slower),
            ev.Measured(measurement=now),
            ev.Measured(measurement=off),
            ev.HypothesisClosed(hypothesis="H1", status=Status.SUPPORTED, because="measured", evidence=("E2",)),
        ]
    )


def opened(move: OpenHypothesis) -> Hypothesis:
    told = {k: v for k, v in move.model_dump().items() if k not in ("kind", "todo", "why")}
    return Hypothesis.model_validate({"id": "H2", **told})


def test_a_cycle_above_what_it_could_save_explains_the_loss() -> None:
    ledger = ledger_of(measured(3, 0.8, 0.7, 0.6, step_ms=1.9), measured(0, step_ms=0.19, name="2"))
    [move] = fixed_cost(ledger)
    ledger.apply(ev.HypothesisOpened(hypothesis=opened(move)))
    [closed] = judge(ledger, at=0.0)
    assert (closed.hypothesis, closed.status) == ("H2", Status.SUPPORTED)


@pytest.mark.parametrize(
    ("cycle_ms", "base_ms", "status"),
    [(5.0, 2.0, Status.FALSIFIED), (8.1, 2.0, Status.OPEN)],
)
def test_a_cycle_that_drafts_could_pay_for_does_not(cycle_ms: float, base_ms: float, status: Status) -> None:
    ledger = ledger_of(measured(3, 0.8, 0.7, 0.6, step_ms=cycle_ms), measured(0, step_ms=base_ms, name="2"))
    [move] = fixed_cost(ledger)
    ledger.apply(ev.HypothesisOpened(hypothesis=opened(move)))
    assert [c.status for c in judge(ledger, at=0.0)] == ([status] if status is not Status.OPEN else [])


def test_what_else_may_make_the_cycle_long_is_tried_first() -> None:
    ledger = ledger_of(measured(3, 0.8, 0.7, 0.6, step_ms=1.9), measured(0, step_ms=0.19, name="2"))
    off = Remedy(label="with graphs", remove_flags=("disable-cuda-graph",))
    seen = Observation(check="c", cause="GRAPH-2", stance="suggests", claim="no graphs", about="cycle", remedy=off)
    ledger.apply(ev.Observed(evidence="E1", observation=seen))
    assert fixed_cost(ledger) == []
    told = Prediction(metric="throughput_tok_s", op=">=", value=500.0, under="k")
    rival = Hypothesis(id="H3", key=seen.rival_key, cause="GRAPH-2", claim="c", answers="explains", prediction=told)
    ledger.apply(ev.HypothesisOpened(hypothesis=rival))
    ledger.apply(
        ev.HypothesisClosed(hypothesis="H3", status=Status.FALSIFIED, because="as slow with graphs", evidence=("E2",))
    )
    assert [move.cause for move in fixed_cost(ledger)] == ["LOAD-5"]


def test_a_slow_target_is_not_asked_about() -> None:
    assert fixed_cost(ledger_of(measured(3, 0.8, step_ms=60.0), measured(0, step_ms=7.0, name="2"))) == []
