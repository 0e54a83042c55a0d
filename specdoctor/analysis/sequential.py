"""Comparing two arms block by block, stopping as soon as the answer is clear, with the error of the looks kept at 5 %.

Looking after each block and stopping at the first p below 0.05 would be wrong more than one time in ten. Here each
look uses one smaller level, the same at every look (Pocock's plan), such that all looks together are wrong 5 % of the
time when the arms are equal. The levels depend only on the numbers of blocks, because t has no scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from specdoctor.analysis.figure import FigureError, positive
from specdoctor.analysis.interval import Estimate, between
from specdoctor.analysis.power import Design, PowerStatement, power_statement
from specdoctor.analysis.stats import LEAST_BLOCKS, ComparisonVerdict, TTest, paired, welch
from specdoctor.analysis.student import t_quantile
from specdoctor.core.model import Frozen

MOST_BLOCKS = 12

# Level of each look when looks are taken after 3, 4, ... and this many blocks per arm: quantiles of the least p over
# 400,000 simulated pairs of equal arms, rounded down. `tests/analysis/test_sequential.py` finds them again.
_WELCH_LEVEL = {3: 0.05, 4: 0.041, 5: 0.030, 6: 0.025, 7: 0.021, 8: 0.019, 9: 0.017, 10: 0.0155, 11: 0.0145, 12: 0.0135}
_PAIRED_LEVEL = {3: 0.05, 4: 0.030, 5: 0.022, 6: 0.018, 7: 0.016, 8: 0.014, 9: 0.0125, 10: 0.0115, 11: 0.011, 12: 0.010}


class Look(Frozen):
    """Where a comparison stands: go on, or a verdict about the second arm, with the ratio second / first.

    The interval of `ratio` holds over all looks together (95 %), so it is wider than that of a single t test. `spread`
    is the relative one of a block, of a difference of two in pairs.
    """

    verdict: ComparisonVerdict | Literal["go on"]
    blocks: int
    ratio: Estimate
    level: float
    spread: float
    pairs: bool

    def power(self, claim: float | None = None) -> PowerStatement | None:
        """What so many blocks could have seen, and what `claim` (relative) needs; None where they have no spread."""
        if self.spread <= 0.0:
            return None
        design = Design(cv=self.spread, pairs=self.pairs, correlation=0.5 if self.pairs else 0.0)
        return power_statement(design, self.blocks, unit="blocks", claim=claim)


class SequentialPlan(Frozen):
    """Looks after 3, 4, ... `most` blocks per arm; `margin` (relative) is the difference that would not matter.

    `pairs` compares each block with its neighbour in time (ABBA), which takes slow drift out.
    """

    most: int = 8
    margin: float = 0.03
    pairs: bool = False

    @property
    def level(self) -> float:
        """Two-sided level of each look. Raises FigureError for a plan of fewer than 3 or more than 12 blocks."""
        levels = _PAIRED_LEVEL if self.pairs else _WELCH_LEVEL
        if self.most not in levels:
            raise FigureError(
                f"a plan of {self.most} blocks per arm is not possible",
                next_step=f"plan {LEAST_BLOCKS} to {MOST_BLOCKS} blocks per arm",
            )
        return levels[self.most]

    def look(self, first: Sequence[float], second: Sequence[float]) -> Look | None:
        """The state after these blocks (positive results, tok/s); None before the third block of each arm.

        "better" and "worse" when the interval excludes 1; "no difference" when it lies within the margin; at the end
        of the plan "inconclusive". Raises FigureError for results that are not positive and for arms of unequal length
        in pairs.
        """
        n = min(len(first), len(second))
        if n < LEAST_BLOCKS:
            return None
        logs = [[math.log(positive("block result", value)) for value in arm] for arm in (first, second)]
        test = paired(*logs) if self.pairs else welch(*logs)
        if not isinstance(test, TTest):
            return None
        error = (test.high - test.low) / 2.0 / t_quantile(0.95, test.df)
        ratio = self._ratio(test, error, n)
        return Look(
            verdict=self._verdict(ratio, n),
            blocks=n,
            ratio=ratio,
            level=self.level,
            spread=error * math.sqrt(n if self.pairs else n / 2.0),
            pairs=self.pairs,
        )

    def _ratio(self, test: TTest, error: float, n: int) -> Estimate:
        half = error * t_quantile(1.0 - self.level, test.df)
        low, high = test.difference - half, test.difference + half
        estimator = f"{'paired' if self.pairs else 'Welch'} t on log blocks, {self.most - LEAST_BLOCKS + 1} looks"
        return between(math.exp(test.difference), math.exp(low), math.exp(high), "ratio", estimator=estimator, n=n)

    def _verdict(self, ratio: Estimate, n: int) -> ComparisonVerdict | Literal["go on"]:
        if 1.0 - self.margin < ratio.low and ratio.high < 1.0 / (1.0 - self.margin):
            return "no difference" if ratio.low <= 1.0 <= ratio.high else _side(ratio)
        if ratio.low > 1.0 or ratio.high < 1.0:
            return _side(ratio)
        return "go on" if n < self.most else "inconclusive"


def _side(ratio: Estimate) -> ComparisonVerdict:
    return "better" if ratio.value > 1.0 else "worse"


def holm(values: Sequence[float], *, alpha: float = 0.05) -> tuple[bool, ...]:
    """Which of several p values still count when all are looked at together (Holm's step-down rule)."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    counts = [False] * len(values)
    for rank, index in enumerate(order):
        if values[index] > alpha / (len(values) - rank):
            break
        counts[index] = True
    return tuple(counts)
