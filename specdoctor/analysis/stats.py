"""Statistics of blocks and launches: tests on means, states, autocorrelation, and the bootstrap of a ratio of sums."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from specdoctor.analysis.figure import FigureError, finite, not_negative, positive
from specdoctor.analysis.interval import LEVEL, NORMAL_95, Estimate, Unit, between
from specdoctor.analysis.refusal import Refusal
from specdoctor.analysis.student import t_quantile, two_sided_p
from specdoctor.core.model import Frozen

DEFAULT_LAUNCH_SD = 0.05
LEAST_BLOCKS = 3
RESAMPLES = 2000
_DRAWS_AT_ONCE = 1_000_000


class TTest(Frozen):
    """Difference of two means (second minus first) with its 95 % interval.

    `t` and `p` are None when the spread is zero: then the interval has width 0 and only n can be said.
    """

    difference: float
    low: float
    high: float
    t: float | None
    df: float
    p: float | None
    n_first: int
    n_second: int
    paired: bool


def welch(first: Sequence[float], second: Sequence[float]) -> TTest | Refusal:
    """Welch's t test, second minus first; refused below two values per arm."""
    counts = (len(first), len(second))
    if min(counts) < 2:
        return Refusal(kind="too-few", reason=f"{counts[0]} and {counts[1]} values; a spread needs two per arm")
    _all_finite(first, second)
    u = statistics.variance(first) / counts[0]
    v = statistics.variance(second) / counts[1]
    difference = statistics.fmean(second) - statistics.fmean(first)
    spread = u + v
    df = spread**2 / (u**2 / (counts[0] - 1) + v**2 / (counts[1] - 1)) if spread > 0 else float(sum(counts) - 2)
    return _t_test(difference, math.sqrt(spread), df, counts, paired=False)


def paired(first: Sequence[float], second: Sequence[float]) -> TTest | Refusal:
    """Paired t test, second minus first. Raises FigureError for lists of unequal length; refused below two pairs."""
    if len(first) != len(second):
        raise FigureError(f"{len(first)} and {len(second)} values cannot be paired", next_step="use the unpaired test")
    if len(first) < 2:
        return Refusal(kind="too-few", reason=f"{len(first)} pair; a spread needs two")
    _all_finite(first, second)
    gaps = [b - a for a, b in zip(first, second, strict=True)]
    error = statistics.stdev(gaps) / math.sqrt(len(gaps))
    return _t_test(statistics.fmean(gaps), error, len(gaps) - 1.0, (len(first), len(second)), paired=True)


def _t_test(difference: float, error: float, df: float, counts: tuple[int, int], *, paired: bool) -> TTest:
    half = t_quantile(LEVEL, df) * error
    t = difference / error if error > 0 else None
    return TTest(
        difference=difference,
        low=difference - half,
        high=difference + half,
        t=t,
        df=df,
        p=None if t is None else two_sided_p(t, df),
        n_first=counts[0],
        n_second=counts[1],
        paired=paired,
    )


def _all_finite(*series: Sequence[float]) -> None:
    for values in series:
        for value in values:
            finite("value", value)


ComparisonVerdict = Literal["better", "worse", "no difference", "inconclusive"]


class Comparison(Frozen):
    """Ratio of two arms (second over first) on the log scale, with a verdict about the second."""

    ratio: Estimate
    verdict: ComparisonVerdict
    test: TTest


def compare_blocks(
    first: Sequence[float], second: Sequence[float], *, margin: float, pairs: bool = False
) -> Comparison | Refusal:
    """Compare two arms of positive block results (tok/s): ratio = exp(mean log difference).

    "no difference" needs equivalence (two one-sided tests at 5 %) within 1 - margin and its inverse; below three
    blocks per arm the verdict is "inconclusive". Refused below two blocks per arm.
    """
    logs = [[math.log(positive("block result", value)) for value in arm] for arm in (first, second)]
    test = paired(*logs) if pairs else welch(*logs)
    if isinstance(test, Refusal):
        return test
    n = min(len(first), len(second))
    estimator = f"{'paired' if pairs else 'Welch'} t on log blocks"
    ratio = between(
        math.exp(test.difference), math.exp(test.low), math.exp(test.high), "ratio", estimator=estimator, n=n
    )
    return Comparison(ratio=ratio, verdict=_verdict(test, margin=margin, n=n), test=test)


def _verdict(test: TTest, *, margin: float, n: int) -> ComparisonVerdict:
    if n < LEAST_BLOCKS:
        return "inconclusive"
    limit = -math.log1p(-margin)
    half = (test.high - test.low) / 2.0 / t_quantile(LEVEL, test.df) * t_quantile(0.90, test.df)
    if -limit < test.difference - half and test.difference + half < limit:
        return "no difference"
    if test.low > 0.0:
        return "better"
    return "worse" if test.high < 0.0 else "inconclusive"


def block_mean(values: Sequence[float], unit: Unit, *, between_launch_sd: float = 0.0) -> Estimate | Refusal:
    """Geometric mean of positive blocks with a t interval on the log scale.

    `between_launch_sd` (relative; this host's history, else `DEFAULT_LAUNCH_SD`) is added when the blocks come from
    one launch but stand for the setting. A single block needs it, and is refused without.
    """
    logs = [math.log(positive("block result", value)) for value in values]
    not_negative("spread between launches", between_launch_sd)
    n = len(logs)
    if n == 0 or (n == 1 and between_launch_sd == 0.0):
        return Refusal(kind="too-few", reason=f"{n} block(s) and no known spread between launches: no interval")
    centre = statistics.fmean(logs)
    within = t_quantile(LEVEL, n - 1.0) * statistics.stdev(logs) / math.sqrt(n) if n > 1 else 0.0
    half = math.hypot(within, NORMAL_95 * between_launch_sd)
    launch = f", {between_launch_sd:.1%} between launches" if between_launch_sd else ""
    return between(
        math.exp(centre),
        math.exp(centre - half),
        math.exp(centre + half),
        unit,
        estimator=f"geometric mean of {n} block{'s' if n > 1 else ''}{launch}",
        n=n,
    )


class TwoStates(Frozen):
    """Blocks that fall into two groups: report both, never their mean."""

    low_median: float
    low_count: int
    high_median: float
    high_count: int


def two_states(values: Sequence[float], *, least_share: float = 0.0) -> TwoStates | None:
    """Two groups of values, split at the widest gap that exceeds 10 % of the median and 5 times the median gap.

    `least_share` is the share of all values the smaller group must have, so that single outliers among many do not
    count. None when the values are of one state.
    """
    _all_finite(values)
    ordered = sorted(values)
    gaps = [after - before for before, after in pairwise(ordered)]
    if not gaps:
        return None
    least = max(0.10 * abs(statistics.median(ordered)), 5.0 * statistics.median(gaps))
    wide = [
        (gap, split)
        for split, gap in enumerate(gaps, start=1)
        if gap > least and min(split, len(ordered) - split) >= least_share * len(ordered)
    ]
    if not wide:
        return None
    _, split = max(wide)
    low, high = ordered[:split], ordered[split:]
    return TwoStates(
        low_median=statistics.median(low),
        low_count=len(low),
        high_median=statistics.median(high),
        high_count=len(high),
    )


def effective_n(n: int, autocorrelation: float) -> float:
    """Independent values in a series: n (1 - rho) / (1 + rho), never more than n. Raises FigureError outside -1..1."""
    if not -1.0 < finite("autocorrelation", autocorrelation) < 1.0:
        raise FigureError(f"autocorrelation is {autocorrelation:g}, expected more than -1 and less than 1")
    return n * min(1.0, (1.0 - autocorrelation) / (1.0 + autocorrelation))


def autocorrelation(values: Sequence[float]) -> float | None:
    """Lag-1 autocorrelation; None below three values or without spread."""
    _all_finite(values)
    if len(values) < 3:
        return None
    centre = statistics.fmean(values)
    total = math.fsum((value - centre) ** 2 for value in values)
    if total <= 0.0:
        return None
    return math.fsum((a - centre) * (b - centre) for a, b in pairwise(values)) / total


class RatioOfSums(Frozen):
    """sum(top) / sum(bottom) with the standard error of a bootstrap over its units.

    `standard_error` is None for one unit: a spread over units cannot be known from one.
    """

    value: float
    standard_error: float | None
    n: int
    resamples: int


def bootstrap_ratio(
    pairs: Sequence[tuple[float, float]], *, resamples: int = RESAMPLES, seed: int = 0
) -> RatioOfSums | None:
    """Ratio of sums over units (prompts, requests), each a pair (top, bottom); None when the bottoms sum to 0.

    Units with a bottom of 0 are left out. The standard error carries the factor sqrt(n / (n - 1)), because resampling
    n units understates the spread of few. Raises FigureError for negative or non-finite counts.
    """
    units = [(not_negative("top", top), not_negative("bottom", bottom)) for top, bottom in pairs]
    units = [unit for unit in units if unit[1] > 0.0]
    if not units:
        return None
    n = len(units)
    value = math.fsum(top for top, _ in units) / math.fsum(bottom for _, bottom in units)
    if n == 1:
        return RatioOfSums(value=value, standard_error=None, n=1, resamples=0)
    error = _spread_of_ratios(units, resamples=resamples, seed=seed) * math.sqrt(n / (n - 1))
    return RatioOfSums(value=value, standard_error=error, n=n, resamples=resamples)


def _spread_of_ratios(units: Sequence[tuple[float, float]], *, resamples: int, seed: int) -> float:
    """Standard deviation of the ratio over resamples of the units, in portions that fit into memory."""
    import numpy as np

    source = np.random.default_rng(seed)
    tops, bottoms = np.array(units, dtype=float).T
    ratios = []
    for begun in range(0, resamples, portion := max(1, _DRAWS_AT_ONCE // len(units))):
        drawn = source.integers(0, len(units), size=(min(portion, resamples - begun), len(units)))
        ratios.append(tops[drawn].sum(axis=1) / bottoms[drawn].sum(axis=1))
    return float(np.concatenate(ratios).std())
