"""Speculation that pays in the benchmark is no answer to what was told of other requests, other times, other load."""

from __future__ import annotations

import pytest

from specdoctor.app.unexplained import unexplained
from specdoctor.core import events as ev
from specdoctor.core.estimate import Estimate
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.measurement import Measurement
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import SpecSetting

CHAIN = SpecSetting(algorithm="EAGLE3", draft_steps=3, topk=1, draft_tokens=4)


def measured(number: int, tok_s: float, *, on: bool = True, source: str = "bench") -> Measurement:
    speed = Estimate(value=tok_s, low=tok_s * 0.98, high=tok_s * 1.02, unit="tok/s", estimator="decode", n=12)
    key = "original" if on else "off"
    return Measurement.model_validate(
        {
            "id": f"M{number}", "launch": "as found" if on else "without speculation", "launch_key": key,
            "spec": CHAIN if on else SpecSetting(), "concurrency": 1, "source": source, "requests": 12,
            "throughput": speed, "evidence": f"E{number}",
        }
    )  # fmt: skip


def ledger(symptom: str, *found: Measurement, concurrency: int = 1) -> Ledger:
    settings = RunSettings(symptom=symptom, concurrency=concurrency)
    return fold(
        [
            ev.RunStarted(run="r", target="t", settings=settings, tool_version="0"),
            *(ev.EvidenceRecorded(evidence=m.evidence, action=None, source="s", summary="s") for m in found),
            *(ev.Measured(measurement=m) for m in found),
        ]
    )


PAYS = (measured(1, 310.0), measured(2, 190.0, on=False))


@pytest.mark.parametrize(
    "symptom",
    [
        "",
        "is our set-up all right? 305 tok/s, it was 192 without speculation",
        "it is slow",
        "60 tok/s only, 140 without",  # lower than measured: nobody's figure speaks for it
        "slow with 1 client",
    ],
)
def test_nothing_is_left_where_nothing_that_was_told_is_higher_or_otherwise(symptom: str) -> None:
    assert unexplained(ledger(symptom, *PAYS)) == ()


@pytest.mark.parametrize(
    ("symptom", "says"),
    [
        ("far less than the 480 tok/s we had in spring", "480 tok/s"),
        ("EAGLE-3 gives 310 tok/s, last month it was 450 with the same image", "450 tok/s"),
        ("slower in the afternoon, when many people are on", "under load"),
        ("it is slow under load", "under load"),
    ],
)
def test_what_was_told_of_other_times_and_loads_has_to_be_measured(symptom: str, says: str) -> None:
    [left] = unexplained(ledger(symptom, *PAYS))
    assert says in left


def test_the_users_own_requests_count() -> None:
    [left] = unexplained(ledger("is it all right?", measured(3, 105.0, source="log"), *PAYS))
    assert "105.0 tok/s (102.9-107.1) (E3)" in left
    assert "190.0 tok/s (186.2-193.8) of the benchmark without speculation (E2)" in left
    assert unexplained(ledger("is it all right?", measured(3, 195.0, source="log"), *PAYS)) == ()


def test_sampled_answers_count_where_somebody_calls_it_slow() -> None:
    sampled = measured(3, 110.0, source="answers")
    assert unexplained(ledger("it loses at temperature 1", sampled, *PAYS))
    assert unexplained(ledger("do the answers differ?", sampled, *PAYS)) == ()


def test_load_that_was_measured_is_no_other_load() -> None:
    many = measured(3, 900.0).model_copy(update={"concurrency": 32})
    assert unexplained(ledger("slow under load", many, *PAYS)) == ()


def test_no_gain_is_believed_where_no_draft_is_accepted() -> None:
    def accepts(length: float) -> Measurement:
        figure = Estimate(value=length, low=length, high=length, unit="tokens/cycle", estimator="counts", n=12)
        return measured(1, 310.0).model_copy(update={"accept_length": figure})

    [left] = unexplained(ledger("brings less than it should", accepts(1.0), PAYS[1]))
    assert "310 tok/s (303-317), E1" in left
    assert "while nothing else runs there" in left
    assert unexplained(ledger("brings less than it should", accepts(1.6), PAYS[1])) == ()
    assert unexplained(ledger("brings less than it should", accepts(1.0), measured(2, 330.0, on=False))) == ()
