"""What a design of blocks or launches can see: the number it needs for an effect, and the effect that its number shows.

Two-sided t tests; power by the non-central t distribution (its hypothesis: normal values of equal spread).
"""

from __future__ import annotations

import math

from specdoctor.analysis.figure import FigureError, finite, fraction, positive
from specdoctor.analysis.stats import LEAST_BLOCKS
from specdoctor.core.model import Frozen

ALPHA = 0.05
POWER = 0.80
MOST = 100_000


class Design(Frozen):
    """Two arms compared by a t test: the relative spread `cv` of one value, and whether values come in pairs.

    `correlation` is between the two values of a pair (same prompts, neighbouring in time); it counts for pairs alone.
    """

    cv: float
    pairs: bool = False
    correlation: float = 0.0

    @property
    def spread(self) -> float:
        """Relative standard deviation of what is averaged: of one value, or of the difference within a pair."""
        cv = positive("relative spread", self.cv)
        return cv * math.sqrt(2.0 * (1.0 - self.correlation)) if self.pairs else cv

    def noncentrality(self, effect: float, n: int) -> tuple[float, float]:
        """Non-centrality and degrees of freedom of t at `n` values per arm."""
        shift = abs(effect) / self.spread
        return (shift * math.sqrt(n), n - 1.0) if self.pairs else (shift * math.sqrt(n / 2.0), 2.0 * n - 2.0)


def power_of(design: Design, effect: float, n: int, *, alpha: float = ALPHA) -> float:
    """Chance that `n` values per arm show a relative `effect` (0.03 is 3 %), 0..1. Raises FigureError below n = 2."""
    if n < 2:
        raise FigureError(f"{n} value(s) per arm have no spread", next_step="plan at least two per arm")
    from scipy.special import nctdtr, stdtrit  # a fraction of what scipy.stats takes to import

    shift, df = design.noncentrality(finite("effect", effect), n)
    limit = float(stdtrit(df, 1.0 - alpha / 2.0))
    below = float(nctdtr(df, shift, -limit))  # not a number where it is smaller than the routine can tell
    return 1.0 - float(nctdtr(df, shift, limit)) + (0.0 if math.isnan(below) else below)


def needed(design: Design, effect: float, *, power: float = POWER, alpha: float = ALPHA) -> int:
    """Values per arm with which a relative `effect` is found with `power`; never below the least that a verdict takes.

    Raises FigureError for an effect of 0.
    """
    positive("effect", abs(effect))
    fraction("power", power)
    low, high = LEAST_BLOCKS - 1, LEAST_BLOCKS
    while power_of(design, effect, high, alpha=alpha) < power:
        low, high = high, high * 2
        if high > MOST:
            raise FigureError(f"an effect of {effect:.3%} needs more than {MOST} values", next_step="lower the spread")
    while high - low > 1:
        middle = (low + high) // 2
        if power_of(design, effect, middle, alpha=alpha) < power:
            low = middle
        else:
            high = middle
    return high


def visible_effect(design: Design, n: int, *, power: float = POWER, alpha: float = ALPHA) -> float:
    """The smallest relative effect that `n` values per arm find with `power`, by bisection."""
    low, high = 0.0, design.spread
    while power_of(design, high, n, alpha=alpha) < power:
        low, high = high, high * 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if power_of(design, middle, n, alpha=alpha) < power:
            low = middle
        else:
            high = middle
    return high


class PowerStatement(Frozen):
    """What a comparison could have seen: `visible` (relative) with `n` per arm, and what the claim would need."""

    n: int
    unit: str
    spread: float
    visible: float
    claim: float | None = None
    claim_needs: int | None = None

    def text(self) -> str:
        said = f"{self.n} {self.unit} per arm at {self.spread:.1%} spread show an effect of {self.visible:.1%} or more"
        said += f" ({POWER:.0%} of the time, 5 % level)"
        if self.claim is None or self.claim_needs is None:
            return said
        return f"{said}; {abs(self.claim):.1%} needs {self.claim_needs} per arm"


def power_statement(design: Design, n: int, *, unit: str, claim: float | None = None) -> PowerStatement:
    """The statement for `n` values per arm, each a `unit` (blocks, launches)."""
    return PowerStatement(
        n=n,
        unit=unit,
        spread=design.cv,
        visible=visible_effect(design, n),
        claim=claim,
        claim_needs=None if not claim else needed(design, claim),
    )
