"""A drafter of which nothing is accepted, served or alone, is the limit, whatever a busy host made of the speeds."""

from __future__ import annotations

from specdoctor.core import events as ev
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Hypothesis, Observation, Prediction
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Status
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import SpecSetting
from specdoctor.planners.trained_limits import trained_limits

CHAIN = SpecSetting(algorithm="EAGLE3", draft_steps=3, topk=1, draft_tokens=4)


def figure(value: float, unit: str) -> Estimate:
    return Estimate.model_validate(
        {"value": value, "low": value * 0.98, "high": value * 1.02, "unit": unit, "estimator": "e", "n": 12}
    )


def measured(number: int, tok_s: float, accept_length: float, *, on: bool) -> Measurement:
    return Measurement(
        id=f"M{number}", launch="l", launch_key="original" if on else "off", spec=CHAIN if on else SpecSetting(),
        concurrency=1, source="bench", requests=12, throughput=figure(tok_s, "tok/s"),
        accept_length=Estimate(
            value=accept_length, low=accept_length, high=accept_length, unit="tokens/cycle", estimator="e", n=12
        ),
        step=figure(1000.0 * accept_length / tok_s, "ms"), evidence=f"E{number}",
    )  # fmt: skip


def ledger(served: float, alone: float) -> Ledger:
    """Measured faster with speculation than without: the claim that it is slower was falsified."""
    rival = Observation(
        check="drafter-training", cause="TRAIN-2", stance="suggests", about="accept_length", claim="too little data",
        figure=Estimate(value=alone, low=alone, high=alone, unit="tokens/cycle", estimator="e", n=8), decides="d",
    )  # fmt: skip
    slower = Hypothesis(
        id="H1", key="symptom:slower", cause=None, claim="slower", answers="symptom",
        prediction=Prediction(metric="throughput_tok_s", op=">", value=47.0, under="off"),
    )  # fmt: skip
    evidence = [ev.EvidenceRecorded(evidence=f"E{n}", action=None, source="s", summary="s") for n in (1, 2, 3)]
    return fold(
        [
            ev.RunStarted(run="r", target="t", settings=RunSettings(), tool_version="0"),
            *evidence,
            ev.Observed(evidence="E3", observation=rival),
            ev.Measured(measurement=measured(1, 47.0, served, on=True)),
            ev.Measured(measurement=measured(2, 12.0, 1.0, on=False)),
            ev.HypothesisOpened(hypothesis=slower),
            ev.HypothesisClosed(hypothesis="H1", status=Status.FALSIFIED, because="b", evidence=("E2",)),
        ]
    )


def test_nothing_accepted_served_and_alone_is_the_training() -> None:
    [found] = trained_limits(ledger(served=1.0, alone=1.0))
    assert found.cause == "TRAIN-2"


def test_what_is_accepted_and_faster_is_no_loss_to_explain() -> None:
    assert trained_limits(ledger(served=1.6, alone=1.6)) == []
