"""A number with its interval, unit, estimator and sample size.

Intervals are at the 95 % level. Figures that somebody typed have an interval of width 0 and the estimator "as typed".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from specdoctor.analysis.figure import FigureError, finite, not_negative
from specdoctor.analysis.student import t_quantile
from specdoctor.core.model import Frozen

Unit = Literal["ms", "s", "tok/s", "tokens", "tokens/cycle", "fraction", "ratio"]
AS_TYPED = "as typed"
LEVEL = 0.95
NORMAL_95 = 1.959963984540054

_WITHOUT_WORD: frozenset[Unit] = frozenset({"fraction", "ratio"})


class Estimate(Frozen):
    """Value with a 95 % interval; `n` is the number of independent units behind it, None when not counted."""

    value: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    unit: Unit
    estimator: Annotated[str, Field(min_length=1)]
    n: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _value_inside(self) -> Self:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"value {self.value:g} lies outside its interval {self.low:g} to {self.high:g}")
        return self

    @property
    def width(self) -> float:
        """High minus low, in `unit`."""
        return self.high - self.low

    @property
    def is_typed(self) -> bool:
        """Whether a person gave this figure: then its interval of width 0 is an assumption, not a finding."""
        return self.estimator == AS_TYPED

    def __str__(self) -> str:
        """Value and interval, for example `88.7 (82-96)`; a width of 0 shows the value alone."""
        value, interval = self._parts()
        return f"{value} {interval}".rstrip()

    def with_unit(self) -> str:
        """Value, unit and interval, for example `88.7 tok/s (82-96)`."""
        value, interval = self._parts()
        unit = "" if self.unit in _WITHOUT_WORD else self.unit
        return " ".join(part for part in (value, unit, interval) if part)

    def _parts(self) -> tuple[str, str]:
        own = _decimals(self.value, digits=3)
        if self.width == 0.0:
            text = f"{self.value:.{own}f}"
            return (text.rstrip("0").rstrip(".") if "." in text else text), ""
        shown = _decimals(self.width, digits=2)
        low, high = _outward(self.low, shown, math.floor), _outward(self.high, shown, math.ceil)
        between = " to " if self.low < 0 else "-"
        return f"{self.value:.{max(own, shown)}f}", f"({low}{between}{high})"


def _decimals(value: float, *, digits: int) -> int:
    if value == 0.0:
        return digits - 1
    return min(max(0, digits - 1 - math.floor(math.log10(abs(value)))), 6)


def _outward(value: float, decimals: int, rounded: Callable[[float], int]) -> str:
    """Round away from the value, so that the printed interval contains the real one; ignore float dust."""
    step = 10**decimals
    return f"{rounded(round(value * step, 6)) / step:.{decimals}f}"


def between(value: float, low: float, high: float, unit: Unit, *, estimator: str, n: int | None = None) -> Estimate:
    """Estimate from its three numbers, with float dust at the ends cleared. Raises FigureError for NaN or infinity."""
    for name, number in (("value", value), ("low end", low), ("high end", high)):
        finite(f"{name} ({estimator})", number)
    dust = 1e-12 * max(abs(value), abs(low), abs(high))
    if low > value + dust or high < value - dust:
        raise FigureError(f"{value:g} lies outside its interval {low:g} to {high:g} ({estimator})")
    return Estimate(value=value, low=min(low, value), high=max(high, value), unit=unit, estimator=estimator, n=n)


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
