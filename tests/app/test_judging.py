"""Predictions against evidence: decided only when the whole interval lies on one side."""

from __future__ import annotations

import pytest

from specdoctor.analysis.stats import DEFAULT_LAUNCH_SD
from specdoctor.app.judging import compare, judge
from specdoctor.core import events as ev
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Hypothesis, Observation, Prediction
from specdoctor.core.launch import LaunchChange, LaunchOutcome
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Status
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import SpecSetting

CHAIN = SpecSetting(algorithm="EAGLE3", draft_steps=15, topk=1, draft_tokens=16)


def speed(value: float, half: float = 0.5) -> Estimate:
    return Estimate(value=value, low=value - half, high=value + half, unit="tok/s", estimator="decode", n=8)


def predicts(op: str = ">=", value: float = 90.0, under: str = "k") -> Prediction:
    return Prediction.model_validate({"metric": "throughput_tok_s", "op": op, "value": value, "under": under})


def run_with(hypothesis: Hypothesis, *events: ev.Event) -> Ledger:
    start = ev.RunStarted(run="r", target="t", settings=RunSettings(), tool_version="0")
    seen = [ev.EvidenceRecorded(evidence=f"E{i}", action=None, source="s", summary="s") for i in (1, 2)]
    return fold([start, *seen, ev.HypothesisOpened(hypothesis=hypothesis), *events])


def explains(prediction: Prediction | None = None) -> Hypothesis:
    return Hypothesis(
        id="H1", key="k", cause="CFG-3", claim="c", answers="explains", prediction=prediction or predicts()
    )


def bench(value: float, *, half: float = 0.5, concurrency: int = 1) -> ev.Measured:
    measurement = Measurement(
        id="M1",
        launch="15 steps",
        launch_key="k",
        spec=CHAIN,
        concurrency=concurrency,
        source="bench",
        requests=8,
        throughput=speed(value, half),
        evidence="E2",
    )
    return ev.Measured(measurement=measurement)


@pytest.mark.parametrize(
    ("value", "status"), [(46.7, Status.FALSIFIED), (140.0, Status.SUPPORTED), (91.0, Status.OPEN), (88.0, Status.OPEN)]
)
def test_a_measurement_decides_only_beyond_its_interval_and_the_spread_between_starts(
    value: float, status: Status
) -> None:
    ledger = run_with(explains(), bench(value))
    closed = judge(ledger, at=0.0)
    assert (closed[0].status if closed else Status.OPEN) is status
    if closed:
        assert closed[0].evidence == ("E2",)
        assert f"{value:.1f}" in closed[0].because


def test_another_concurrency_decides_nothing() -> None:
    assert judge(run_with(explains(), bench(46.7, concurrency=64)), at=0.0) == ()


def test_the_spread_between_starts_widens_speeds_only() -> None:
    near = predicts(value=100.0)
    assert compare(speed(100 * (1 + DEFAULT_LAUNCH_SD)), near, launch_sd=DEFAULT_LAUNCH_SD) is None
    assert compare(speed(100 * (1 + DEFAULT_LAUNCH_SD)), near, launch_sd=0.0) is True


def test_a_launch_that_does_not_come_up_parks_its_claim() -> None:
    change = LaunchChange(label="15 steps", set_flags={"--s": ("15",)})
    outcome = LaunchOutcome(action="A1", status="failed", server=None, reason="out of memory")
    tried = ev.ServerRelaunched(change=change, spec=None, outcome=outcome, evidence="E1")
    closed = judge(run_with(explains(predicts(under=change.key)), tried), at=0.0)
    assert [c.status for c in closed] == [Status.PARKED]
    assert "out of memory" in closed[0].because


def bound(basis: str, refuted: bool) -> ev.BoundComputed:
    return ev.BoundComputed.model_validate(
        {
            "evidence": "E1",
            "basis": basis,
            "about": "15 steps",
            "text": "at most 80 tok/s",
            "assumptions": ["drafting is free"],
            "metric": "throughput_tok_s",
            "low": 70.0,
            "value": 75.0,
            "high": 80.0,
            "claim": 90.0,
            "refuted": refuted,
            "refutes": ["H1"] if refuted else [],
        }
    )


def test_measured_arithmetic_falsifies_and_names_its_assumption() -> None:
    closed = judge(run_with(explains(), bound("measured", True)), at=0.0)
    assert [c.status for c in closed] == [Status.FALSIFIED]
    assert "drafting is free" in closed[0].because


@pytest.mark.parametrize(("basis", "refuted"), [("typed", True), ("measured", False)])
def test_typed_figures_and_wide_bounds_decide_nothing(basis: str, refuted: bool) -> None:
    assert judge(run_with(explains(), bound(basis, refuted)), at=0.0) == ()


def reading(stance: str) -> ev.Observed:
    told = Prediction(metric="reading", op="!=", subject="draft tokens", text="16")
    observation = Observation.model_validate(
        {"check": "c", "cause": "CFG-3", "stance": stance, "claim": "16 asked, 2 in force", "reading": told}
    )
    return ev.Observed(evidence="E1", observation=observation)


@pytest.mark.parametrize(
    ("stance", "status"), [("supports", Status.SUPPORTED), ("refutes", Status.FALSIFIED), ("suggests", Status.OPEN)]
)
def test_a_reading_decides_whether_a_fault_is_there(stance: str, status: Status) -> None:
    told = Prediction(metric="reading", op="!=", subject="draft tokens", text="16")
    exists = explains(told).model_copy(update={"answers": "exists"})
    closed = judge(run_with(exists, reading(stance)), at=0.0)
    assert (closed[0].status if closed else Status.OPEN) is status


def test_that_a_fault_is_there_does_not_make_it_the_explanation() -> None:
    told = Prediction(metric="reading", op="!=", subject="draft tokens", text="16")
    assert judge(run_with(explains(told), reading("supports")), at=0.0) == ()


@pytest.mark.parametrize(
    ("value", "half", "status"),
    [
        (82.0, 4.0, Status.SUPPORTED),
        (74.0, 4.0, Status.FALSIFIED),
        (96.0, 4.0, Status.FALSIFIED),
        (79.0, 4.0, Status.OPEN),
        (92.0, 4.0, Status.OPEN),
    ],
)
def test_an_expected_range_is_met_within_missed_outside_and_else_undecided(
    value: float, half: float, status: Status
) -> None:
    expected = predicts(op="within", value=80.0).model_copy(update={"most": 90.0})
    closed = judge(run_with(explains(expected), bench(value, half=half)), at=0.0)
    assert (closed[0].status if closed else Status.OPEN) is status
    assert not closed or "predicted 80 to 90, measured" in closed[0].because
