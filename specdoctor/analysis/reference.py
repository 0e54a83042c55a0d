"""Accept lengths that healthy drafters reach, with sources, and what more training data is worth."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from specdoctor.analysis.figure import accept_length, positive
from specdoctor.analysis.interval import Estimate, between
from specdoctor.core.model import Frozen

WIDENED_BY = 0.15
COMPARABLE_DOUBLINGS = 2.0
LEAST_SAMPLES = 300_000

Domain = Literal["coding", "mt-bench", "gsm8k", "humaneval", "math500"]
Family = Literal["any", "kimi-k2"]

_INFERENCEX = "InferenceX, 7 models with healthy heads, coding prompts"
_KIMI = "public model cards of EAGLE-3 drafts for Kimi-K2-class targets, 3 steps, topk 1, temperature 0"


class ReferenceRange(Frozen):
    """Range of accept length seen with healthy drafters; `source` names where."""

    family: Family
    method: Literal["any", "eagle3"]
    steps: Annotated[int, Field(ge=1)]
    domain: Domain
    low: float
    high: float
    source: str

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not 1.0 <= self.low <= self.high <= self.steps + 1:
            raise ValueError(f"range {self.low:g} to {self.high:g} is impossible at {self.steps} steps")
        return self

    @property
    def name(self) -> str:
        """One line that tells a reader which row was used."""
        return f"{self.low:g}-{self.high:g} at {self.steps} steps, {self.domain}: {self.source}"


def _kimi(domain: Domain, low: float, high: float) -> ReferenceRange:
    return ReferenceRange(family="kimi-k2", method="eagle3", steps=3, domain=domain, low=low, high=high, source=_KIMI)


def _any(steps: int, low: float, high: float) -> ReferenceRange:
    return ReferenceRange(
        family="any", method="any", steps=steps, domain="coding", low=low, high=high, source=_INFERENCEX
    )


REFERENCE_RANGES: tuple[ReferenceRange, ...] = (
    _any(1, 1.78, 1.93),
    _any(2, 2.27, 2.73),
    _any(3, 2.49, 3.39),
    _any(5, 2.55, 4.41),
    _kimi("mt-bench", 2.35, 2.69),
    _kimi("gsm8k", 2.95, 3.23),
    _kimi("humaneval", 2.54, 3.37),
    _kimi("math500", 2.66, 3.49),
)


def reference_range(*, family: Family, steps: int, domain: Domain) -> ReferenceRange | None:
    """The row for this family, k and domain, else the one for any family; None when nothing comparable is known."""
    rows = [row for row in REFERENCE_RANGES if row.steps == steps and row.domain == domain]
    own = [row for row in rows if row.family == family]
    general = [row for row in rows if row.family == "any"]
    return next(iter(own + general), None)


class Expectation(Frozen):
    """An accept length beside a reference row, widened by 0.15 at both ends."""

    place: Literal["below", "within", "above", "undecided"]
    row: ReferenceRange


def compare_with_reference(measured: Estimate, row: ReferenceRange) -> Expectation:
    """Place a measured accept length; "below" and "above" need its whole interval outside the widened range."""
    accept_length(measured.value)
    low, high = row.low - WIDENED_BY, row.high + WIDENED_BY
    if measured.high < low:
        return Expectation(place="below", row=row)
    if measured.low > high:
        return Expectation(place="above", row=row)
    inside = low <= measured.low and measured.high <= high
    return Expectation(place="within" if inside else "undecided", row=row)


class TrainingReading(Frozen):
    """Two readings of what more training samples would bring, at 3 steps, and why neither may be chosen.

    `by_doublings` holds within one recipe; `by_line` runs through two published heads of different recipes.
    `caveats` is empty only where the first reading can be used by itself.
    """

    doublings: float
    by_doublings: Estimate
    by_line_low: float
    by_line_high: float
    caveats: tuple[str, ...]


def more_training_data(*, length_now: float, samples_now: float, samples_then: float) -> TrainingReading:
    """Accept length to expect from training on more samples, as two readings.

    By doublings: 0.05 (0.02 to 0.10) each, seen within one recipe at 3 steps above 300 000 samples. By line: in log
    samples, the slope between heads of 37 000 samples (2.0) and 1.4 million (3.2 to 3.5; another recipe and k).
    """
    accept_length(length_now)
    doublings = math.log2(positive("samples then", samples_then) / positive("samples now", samples_now))
    gains = sorted((0.02 * doublings, 0.10 * doublings))
    by_doublings = between(
        max(1.0, length_now + 0.05 * doublings),
        max(1.0, length_now + gains[0]),
        max(1.0, length_now + gains[1]),
        "tokens/cycle",
        estimator="0.05 (0.02 to 0.10) per doubling of the samples within one recipe",
    )
    span = math.log2(1_400_000 / 37_000)
    line = sorted(max(1.0, length_now + rise * doublings / span) for rise in (1.2, 1.5))
    caveats = []
    if abs(doublings) > COMPARABLE_DOUBLINGS:
        caveats.append(f"{doublings:.1f} doublings is beyond the 2 for which a gain per doubling was seen")
    if min(samples_now, samples_then) < LEAST_SAMPLES:
        caveats.append("the gain per doubling was seen above 300 000 samples only")
    if caveats:
        caveats.append("the line joins heads of two recipes with different most accept lengths (3 and 4)")
    return TrainingReading(
        doublings=doublings,
        by_doublings=by_doublings,
        by_line_low=line[0],
        by_line_high=line[1],
        caveats=tuple(caveats),
    )
