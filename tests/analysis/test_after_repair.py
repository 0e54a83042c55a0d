"""Throughput by chain length from the drafter's own acceptance and two measured cycles."""

from __future__ import annotations

import pytest

from specdoctor.analysis.after_repair import best, expected
from specdoctor.core.estimate import Estimate


def figure(value: float, half: float, unit: str) -> Estimate:
    data = {"value": value, "low": value - half, "high": value + half, "unit": unit, "estimator": "given", "n": 12}
    return Estimate.model_validate(data)


RATES = [figure(0.747, 0.01, "fraction"), figure(0.67, 0.01, "fraction")]


def test_a_chain_between_two_measured_ones_can_be_the_best() -> None:
    found = expected(RATES, {1: figure(28.17, 0.1, "ms"), 15: figure(40.68, 0.1, "ms")})
    speeds = {one.steps: one.throughput.value for one in found}
    assert sorted(speeds) == list(range(1, 16))
    assert speeds[1] == pytest.approx(62.0, abs=0.3)
    assert speeds[15] == pytest.approx(80.1, abs=0.4)
    fastest = best(found)
    assert (fastest.steps, fastest.accept_length) == (6, pytest.approx(3.06, abs=0.005))
    assert fastest.throughput.value == pytest.approx(93.7, abs=0.5)
    assert "the last of 2 rates held" in fastest.throughput.estimator


def test_the_interval_holds_the_spread_between_starts_even_where_all_else_is_exact() -> None:
    (one,) = expected([figure(0.5, 0.0, "fraction")], {1: figure(30.0, 0.0, "ms")})
    assert one.throughput.value == pytest.approx(50.0)
    assert one.throughput.high / one.throughput.value == pytest.approx(1.098, abs=0.001)


def test_without_rates_or_cycles_nothing_is_expected() -> None:
    assert expected([], {1: figure(30.0, 0.0, "ms")}) == ()
    assert expected(RATES, {}) == ()
