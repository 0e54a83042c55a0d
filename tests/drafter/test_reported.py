"""A test of the drafter alone that lies with it: what is taken from the document, and what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specdoctor.drafter.reported import SCHEMA, alone

STATES = ("out(1)", "out(5)", "out(8)")


def rate(value: float) -> dict[str, Any]:
    ends = {"low": value - 0.02, "high": value + 0.02}
    return {"value": value, **ends, "unit": "fraction", "estimator": "share", "n": 90}


def document(*rates: float | None, states: tuple[str, ...] = STATES, schema: str = SCHEMA) -> str:
    steps = [{"own": rate(value) if value is not None else None} for value in rates]
    return json.dumps({"schema": schema, "fed": [{"states": states, "steps": steps}]})


def test_the_accept_length_of_a_chain_counts_the_bonus_token() -> None:
    found = alone({"a.json": document(0.7, 0.5)}, STATES)
    assert found is not None
    one, two = found.accept_length(1), found.accept_length(2)
    assert one is not None
    assert two is not None
    assert (one.value, two.value) == (pytest.approx(1.7), pytest.approx(1.0 + 0.7 + 0.35))
    assert (one.low, one.high) == (pytest.approx(1.68), pytest.approx(1.72))


def test_of_a_longer_chain_than_was_tested_nothing_is_said() -> None:
    found = alone({"a.json": document(0.7, None, 0.5)}, STATES)
    assert found is not None
    assert found.accept_length(1) is not None
    assert found.accept_length(2) is None


@pytest.mark.parametrize(
    "text",
    [
        document(0.7, states=("out(5)", "out(1)", "out(8)")),
        document(0.7, schema="specdoctor.wiring/1"),
        document(),
        document(1.2),
        "specdoctor.drafter-eval/1",
        json.dumps({"schema": SCHEMA, "fed": [1, {"states": 1}, {"states": ["embed"], "steps": [1]}]}),
        json.dumps([SCHEMA]),
    ],
    ids=["other-order", "other-document", "no-steps", "no-share", "no-json", "no-shape", "a-list"],
)
def test_what_is_no_test_of_these_states_is_left_out(text: str) -> None:
    assert alone({"a.json": text}, STATES) is None
