"""A number with its interval, unit, estimator and sample size; no figure travels without them."""

from __future__ import annotations

import math

from pydantic import model_validator

from specdoctor.core.model import Frozen


class Estimate(Frozen):
    """`low <= value <= high` in `unit`; `estimator` says how it was obtained, `n` from how many samples (0: typed)."""

    value: float
    low: float
    high: float
    unit: str
    estimator: str
    n: int = 0

    @model_validator(mode="after")
    def _ordered(self) -> Estimate:
        if not all(math.isfinite(x) for x in (self.value, self.low, self.high)):
            raise ValueError("an estimate must be finite")
        if not self.low <= self.value <= self.high:
            raise ValueError(f"interval {self.low}..{self.high} does not hold the value {self.value}")
        return self

    @property
    def exact(self) -> bool:
        """True for a typed figure, which carries no interval of its own."""
        return self.low == self.high


def exact(value: float, unit: str, *, estimator: str = "as typed") -> Estimate:
    """A figure somebody typed: a claim, taken at its word, with an interval of width zero."""
    return Estimate(value=value, low=value, high=value, unit=unit, estimator=estimator, n=0)
