"""A number with its interval, unit, estimator and sample size.

Intervals are at the 95 % level. Figures that somebody typed have an interval of width 0 and the estimator "as typed".
"""

from __future__ import annotations

import math
from collections.abc import Callable

from specdoctor.analysis.figure import FigureError, finite, not_negative
from specdoctor.analysis.student import t_quantile
from specdoctor.core.estimate import AS_TYPED, Estimate, Unit

LEVEL = 0.95
NORMAL_95 = 1.959963984540054

__all__ = [
    "AS_TYPED",
    "Estimate",
    "Unit",
    "between",
    "difference",
    "exact",
    "from_error",
    "mapped",
    "product",
    "ratio",
    "scale",
]


def between(value: float, low: float, high: float, unit: Unit, *, estimator: str, n: int | None = None) -> Estimate:
    """Estimate from its three numbers, with float dust at the ends cleared. Raises FigureError for NaN or infinity."""
    for name, number in (("value", value), ("low end", low), ("high end", high)):
        finite(f"{name} ({estimator})", number)
    dust = 1e-12 * max(abs(value), abs(low), abs(high))
    if low > value + dust or high < value - dust:
        raise FigureError(f"{value:g} lies outside its interval {low:g} to {high:g} ({estimator})")
    low = value if value - low <= dust else low
    high = value if high - value <= dust else high
    return Estimate(value=value, low=low, high=high, unit=unit, estimator=estimator, n=n)


def exact(value: float, unit: Unit, *, estimator: str = AS_TYPED) -> Estimate:
    """A figure taken as it stands, width 0. Raises FigureError for NaN or infinity."""
    return between(value, value, value, unit, estimator=estimator)


def from_error(
    value: float,
    standard_error: float,
    unit: Unit,
    *,
    estimator: str,
    n: int | None = None,
    df: float | None = None,
    floor: float = -math.inf,
    ceiling: float = math.inf,
) -> Estimate:
    """95 % interval from a standard error, with Student's t if `df` is given, cut to what is possible."""
    half = (t_quantile(LEVEL, df) if df is not None else NORMAL_95) * not_negative("standard error", standard_error)
    low, high = max(value - half, min(floor, value)), min(value + half, max(ceiling, value))
    return between(value, low, high, unit, estimator=estimator, n=n)


def scale(estimate: Estimate, factor: float, *, unit: Unit | None = None, estimator: str | None = None) -> Estimate:
    """Estimate times a known factor (a negative one turns the interval round)."""
    finite("factor", factor)
    return mapped(estimate, lambda x: x * factor, unit=unit or estimate.unit, estimator=estimator or estimate.estimator)


def mapped(estimate: Estimate, function: Callable[[float], float], *, unit: Unit, estimator: str) -> Estimate:
    """Estimate put through a function that is monotone over its interval; the ends map exactly."""
    value, low, high = function(estimate.value), function(estimate.low), function(estimate.high)
    return between(value, min(low, high), max(low, high), unit, estimator=estimator, n=estimate.n)


def ratio(top: Estimate, bottom: Estimate, *, unit: Unit, estimator: str) -> Estimate:
    """Quotient of two independent estimates that are not negative.

    Relative variances add, taken side by side on the log scale: for narrow intervals this is the usual rule
    var(x/y) = (x/y)^2 (var(x)/x^2 + var(y)/y^2), for wide ones it never crosses 0, and an exact partner leaves
    the other's ends exact. Raises FigureError if the divisor's interval reaches 0 or the top is negative.
    """
    if bottom.low <= 0.0:
        raise FigureError(
            f"cannot divide by {bottom}: its interval reaches 0 ({estimator})", next_step="measure it longer"
        )
    _refuse_negative(top, estimator)
    value = top.value / bottom.value
    down = math.hypot(_log(top.value, top.low), _log(bottom.high, bottom.value))
    up = math.hypot(_log(top.high, top.value), _log(bottom.value, bottom.low))
    high = top.high / bottom.low if top.value == 0.0 else value * math.exp(up)
    return between(value, value * math.exp(-down), high, unit, estimator=estimator, n=_least(top.n, bottom.n))


def product(first: Estimate, second: Estimate, *, unit: Unit, estimator: str) -> Estimate:
    """Product of two independent estimates that are not negative; relative variances add as in `ratio`."""
    _refuse_negative(first, estimator)
    _refuse_negative(second, estimator)
    value = first.value * second.value
    down = math.hypot(_log(first.value, first.low), _log(second.value, second.low))
    up = math.hypot(_log(first.high, first.value), _log(second.high, second.value))
    high = first.high * second.high if value == 0.0 else value * math.exp(up)
    return between(value, value * math.exp(-down), high, unit, estimator=estimator, n=_least(first.n, second.n))


def difference(first: Estimate, second: Estimate, *, estimator: str) -> Estimate:
    """First minus second, independent, same unit; variances add side by side. Raises FigureError for two units."""
    if first.unit != second.unit:
        raise FigureError(f"cannot subtract {second.unit} from {first.unit} ({estimator})")
    value = first.value - second.value
    down = math.hypot(first.value - first.low, second.high - second.value)
    up = math.hypot(first.high - first.value, second.value - second.low)
    return between(value, value - down, value + up, first.unit, estimator=estimator, n=_least(first.n, second.n))


def _refuse_negative(estimate: Estimate, estimator: str) -> None:
    if estimate.low < 0.0:
        raise FigureError(f"{estimate} reaches below 0; relative variances do not apply ({estimator})")


def _log(larger: float, smaller: float) -> float:
    """Log distance of two ends; infinite when the smaller is 0, and 0 when both are."""
    if larger == smaller:
        return 0.0
    return math.log(larger / smaller) if smaller > 0.0 else math.inf


def _least(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return min(known) if known else None
