"""A number with its 95 % interval, unit, estimator and sample size; no figure travels without them.

Figures that somebody typed have an interval of width 0 and the estimator "as typed".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from specdoctor.core.model import Frozen

Unit = Literal["ms", "s", "tok/s", "tokens", "tokens/cycle", "fraction", "ratio"]
AS_TYPED = "as typed"

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
        most = max(0, 3 - math.floor(math.log10(abs(self.value)))) if self.value else 6
        shown = min(_decimals(self.width, digits=2), most)
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


def exact(value: float, unit: Unit, *, estimator: str = AS_TYPED) -> Estimate:
    """A figure taken as it stands, width 0; raises pydantic.ValidationError for NaN or infinity."""
    return Estimate(value=value, low=value, high=value, unit=unit, estimator=estimator)
