"""The learning curve of one recipe: a line with an interval, or a refusal."""

from __future__ import annotations

import pytest

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.learning_curve import CurvePoint, LearningCurve, learning_curve, on_curve, samples_for
from specdoctor.analysis.refusal import Refusal


def points(*pairs: tuple[float, float]) -> list[CurvePoint]:
    return [CurvePoint(samples=samples, accept_length=length) for samples, length in pairs]


def curve(*pairs: tuple[float, float]) -> LearningCurve:
    found = learning_curve(points(*pairs))
    assert isinstance(found, LearningCurve)
    return found


def test_three_points_on_a_line() -> None:
    found = curve((10_000, 1.8), (20_000, 1.9), (40_000, 2.0))
    assert found.per_doubling.value == pytest.approx(0.1)
    assert found.per_doubling.width == pytest.approx(0.0, abs=1e-9)
    expected = on_curve(found, 80_000, steps=2)
    assert not isinstance(expected, Refusal)
    assert expected.value == pytest.approx(2.1)
    assert samples_for(found, 2.1) == (pytest.approx(80_000), pytest.approx(80_000))


def test_three_points_off_a_line_have_a_wide_interval() -> None:
    """By hand: x = 0, 1, 2; y = 1.80, 1.95, 2.00: slope 0.1, residuals -1/60, 2/60, -1/60, one degree of freedom."""
    found = curve((10_000, 1.80), (20_000, 1.95), (40_000, 2.00))
    spread = (6 / 3600) ** 0.5
    assert found.spread == pytest.approx(spread)
    half = 12.706 * spread / 2**0.5
    assert (found.per_doubling.low, found.per_doubling.high) == pytest.approx((0.1 - half, 0.1 + half), abs=1e-4)
    few, many = samples_for(found, 2.3)
    assert few == 40_000
    assert many is None
    expected = on_curve(found, 80_000, steps=2)
    assert not isinstance(expected, Refusal)
    assert (expected.low, expected.high) == (pytest.approx(max(1.0, expected.low)), 3.0)


@pytest.mark.parametrize("few", [points((1e4, 1.8)), points((1e4, 1.8), (2e4, 1.9)), points((1e4, 1.8), (1e4, 1.9))])
def test_two_sizes_are_no_curve(few: list[CurvePoint]) -> None:
    found = learning_curve(few)
    assert isinstance(found, Refusal)
    assert "three sizes" in found.reason


def test_a_line_is_not_drawn_too_far() -> None:
    found = on_curve(curve((10_000, 1.8), (20_000, 1.9), (40_000, 2.0)), 500_000, steps=2)
    assert isinstance(found, Refusal)
    assert "3.6 doublings beyond" in found.reason


def test_a_curve_that_falls_promises_nothing() -> None:
    with pytest.raises(FigureError, match="does not rise"):
        samples_for(curve((1e4, 2.0), (2e4, 1.9), (4e4, 1.8)), 2.1)
    with pytest.raises(FigureError):
        learning_curve(points((0, 2.0), (2e4, 1.9), (4e4, 1.8)))
