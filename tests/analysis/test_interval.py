"""Estimates: what is refused, how they combine, and how they are printed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.interval import (
    Estimate,
    between,
    difference,
    exact,
    from_error,
    mapped,
    product,
    ratio,
    scale,
)

POSITIVE = st.floats(min_value=1e-3, max_value=1e6)
FACTOR = st.floats(min_value=1.0, max_value=3.0)


@st.composite
def estimates(draw):
    value = draw(POSITIVE)
    return between(
        value, value / draw(FACTOR), value * draw(FACTOR), "ms", estimator="drawn", n=draw(st.integers(1, 99))
    )


class TestRefused:
    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_not_finite(self, bad):
        with pytest.raises(ValidationError):
            Estimate(value=bad, low=0, high=1, unit="ms", estimator="x")
        with pytest.raises(FigureError):
            exact(bad, "ms")
        with pytest.raises(FigureError):
            scale(exact(1, "ms"), bad)

    def test_value_outside(self):
        with pytest.raises(ValidationError, match="outside its interval"):
            Estimate(value=3, low=1, high=2, unit="ms", estimator="x")
        with pytest.raises(FigureError, match="outside its interval"):
            between(3, 1, 2, "ms", estimator="x")

    def test_unknown_unit_and_no_estimator(self):
        with pytest.raises(ValidationError):
            Estimate.model_validate({"value": 1, "low": 1, "high": 1, "unit": "furlong", "estimator": "x"})
        with pytest.raises(ValidationError):
            Estimate(value=1, low=1, high=1, unit="ms", estimator="")

    def test_divisor_that_may_be_zero(self):
        with pytest.raises(FigureError, match="reaches 0"):
            ratio(exact(1, "ms"), between(1, 0, 2, "ms", estimator="x"), unit="ratio", estimator="x")

    def test_negative_figures_have_no_relative_variance(self):
        below = between(1, -1, 2, "ms", estimator="x")
        with pytest.raises(FigureError, match="below 0"):
            product(below, exact(1, "ms"), unit="ms", estimator="x")
        with pytest.raises(FigureError, match="below 0"):
            ratio(below, exact(1, "ms"), unit="ratio", estimator="x")

    def test_difference_of_two_units(self):
        with pytest.raises(FigureError, match="cannot subtract"):
            difference(exact(1, "ms"), exact(1, "s"), estimator="x")


class TestText:
    @pytest.mark.parametrize(
        ("estimate", "text"),
        [
            (between(88.7, 82.3, 95.6, "tok/s", estimator="x"), "88.7 (82-96)"),
            (between(2.46, 2.325, 2.606, "tokens/cycle", estimator="x"), "2.46 (2.32-2.61)"),
            (between(1234.5, 1200.2, 1270.9, "tok/s", estimator="x"), "1234 (1200-1271)"),
            (between(0.03, -0.04, 0.1, "ms", estimator="x"), "0.0300 (-0.04 to 0.10)"),
            (exact(90, "tok/s"), "90"),
            (exact(100, "tok/s"), "100"),
            (exact(56.8, "tok/s"), "56.8"),
            (exact(0, "ms"), "0"),
            (between(6144.0, 6144.0, 6144.000000000002, "ms", estimator="x"), "6144"),
        ],
    )
    def test_value_and_interval(self, estimate, text):
        assert str(estimate) == text

    def test_with_unit(self):
        assert between(93, 88, 97, "tok/s", estimator="x").with_unit() == "93.0 tok/s (88.0-97.0)"
        assert exact(0.6, "fraction").with_unit() == "0.6"
        assert exact(28.17, "ms").with_unit() == "28.2 ms"

    @given(estimates())
    def test_printed_interval_contains_the_real_one(self, estimate):
        text = str(estimate)
        if "(" in text:
            low, high = text.split("(")[1].rstrip(")").split("-")
            dust = 1e-9 * estimate.high + 1e-6
            assert float(low) <= estimate.low + dust
            assert float(high) >= estimate.high - dust


class TestCombining:
    def test_relative_variances_add_for_narrow_intervals(self):
        a = between(100, 97, 103, "tok/s", estimator="a", n=10)
        b = between(20, 19.2, 20.8, "ms", estimator="b", n=4)
        for combined in (
            ratio(a, b, unit="ratio", estimator="x"),
            product(a, b, unit="ratio", estimator="x"),
        ):
            assert (combined.high - combined.low) / 2 / combined.value == pytest.approx(0.05, rel=0.01)
            assert combined.n == 4

    def test_exact_partner_keeps_the_ends(self):
        a = between(2.5, 2.3, 2.7, "tokens/cycle", estimator="a", n=5)
        found = ratio(a, exact(2, "ms"), unit="ratio", estimator="x")
        assert (found.low, found.value, found.high) == pytest.approx((1.15, 1.25, 1.35))
        assert found.n == 5

    def test_zero(self):
        nothing = between(0, 0, 2, "tokens", estimator="x")
        divided = ratio(nothing, between(2, 1, 4, "ms", estimator="x"), unit="ratio", estimator="x")
        assert (divided.low, divided.value, divided.high) == (0, 0, 2)
        times = product(nothing, exact(3, "ms"), unit="ratio", estimator="x")
        assert (times.low, times.value, times.high) == (0, 0, 6)
        from_zero = product(between(1, 0, 2, "tokens", estimator="x"), exact(3, "ms"), unit="ratio", estimator="x")
        assert (from_zero.low, from_zero.high) == (0, pytest.approx(6))

    def test_difference(self):
        found = difference(
            between(10, 7, 14, "ms", estimator="a"), between(5, 1, 8, "ms", estimator="b"), estimator="excess"
        )
        assert (found.low, found.value, found.high) == pytest.approx((5 - math.hypot(3, 3), 5, 5 + math.hypot(4, 4)))

    def test_scale_by_a_negative_factor(self):
        found = scale(between(2, 1, 4, "ms", estimator="x", n=3), -1)
        assert (found.low, found.value, found.high, found.n) == (-4, -2, -1, 3)

    def test_from_error_uses_t_and_limits(self):
        normal = from_error(0.5, 0.1, "fraction", estimator="x")
        few = from_error(0.5, 0.1, "fraction", estimator="x", n=3, df=2, floor=0.0, ceiling=1.0)
        assert normal.high == pytest.approx(0.696, abs=1e-3)
        assert few.high == pytest.approx(0.930, abs=1e-3)
        assert from_error(0.95, 0.1, "fraction", estimator="x", ceiling=1.0).high == 1.0

    def test_only_typed_figures_are_typed(self):
        assert exact(90, "tok/s").is_typed
        assert not exact(2, "tokens/cycle", estimator="all drafts accepted").is_typed

    @given(estimates(), estimates())
    def test_contained_and_inside_the_box(self, a, b):
        divided = ratio(a, b, unit="ratio", estimator="x")
        times = product(a, b, unit="ratio", estimator="x")
        assert (
            a.low / b.high * (1 - 1e-9) <= divided.low <= divided.value <= divided.high <= a.high / b.low * (1 + 1e-9)
        )
        assert a.low * b.low * (1 - 1e-9) <= times.low <= times.value <= times.high <= a.high * b.high * (1 + 1e-9)

    @given(estimates(), estimates())
    def test_product_undoes_ratio_in_value_and_never_narrows(self, a, b):
        back = product(ratio(a, b, unit="ratio", estimator="x"), b, unit="ms", estimator="x")
        assert back.value == pytest.approx(a.value)
        assert back.low <= a.low * (1 + 1e-9)
        assert back.high >= a.high * (1 - 1e-9)

    @given(estimates(), st.floats(min_value=-100, max_value=100, allow_subnormal=False))
    def test_scale_contains(self, a, factor):
        found = scale(a, factor)
        assert found.low <= found.value <= found.high
        assert found.width == pytest.approx(a.width * abs(factor), abs=1e-9 * a.high * abs(factor))

    @given(estimates())
    def test_mapping_keeps_the_ends(self, a):
        found = mapped(a, lambda x: 1 / x, unit="ratio", estimator="x")
        assert (found.low, found.high) == pytest.approx((1 / a.high, 1 / a.low))

    @given(estimates())
    def test_survives_json(self, a):
        assert Estimate.model_validate_json(a.model_dump_json()) == a
