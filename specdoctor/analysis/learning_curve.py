"""The learning curve of one recipe: accept length over training samples, everything else equal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from specdoctor.analysis.figure import FigureError, accept_length, positive
from specdoctor.analysis.interval import Estimate, between
from specdoctor.analysis.refusal import Refusal
from specdoctor.analysis.student import t_quantile
from specdoctor.core.model import Frozen

LEAST_POINTS = 3
FURTHEST_DOUBLINGS = 2.0


class CurvePoint(Frozen):
    """One training: samples, and the accept length (bonus token included) of its drafter on the same prompts."""

    samples: float
    accept_length: float


class LearningCurve(Frozen):
    """A line in log2(samples). `per_doubling` is its gain; `spread` how far points lie off it (standard deviation)."""

    points: tuple[CurvePoint, ...]
    per_doubling: Estimate
    spread: float

    @property
    def middle(self) -> tuple[float, float]:
        """Mean of log2(samples) and of the accept lengths, through which the line goes."""
        n = len(self.points)
        x = math.fsum(math.log2(p.samples) for p in self.points) / n
        return x, math.fsum(p.accept_length for p in self.points) / n


def learning_curve(points: Sequence[CurvePoint]) -> LearningCurve | Refusal:
    """Least squares on log2(samples), 95 % interval of the gain by Student's t with n - 2 degrees of freedom.

    Refused below three points of different size: two make a line and no interval. Raises FigureError for impossible
    figures.
    """
    for point in points:
        positive("samples", point.samples)
        accept_length(point.accept_length)
    if len({point.samples for point in points}) < LEAST_POINTS:
        return Refusal(kind="too-few", reason=f"{len(points)} trainings; a curve with an interval needs three sizes")
    xs = [math.log2(point.samples) for point in points]
    ys = [point.accept_length for point in points]
    n = len(points)
    mean_x, mean_y = math.fsum(xs) / n, math.fsum(ys) / n
    width = math.fsum((x - mean_x) ** 2 for x in xs)
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / width
    rest = math.fsum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in zip(xs, ys, strict=True))
    spread = math.sqrt(rest / (n - 2))
    half = t_quantile(0.95, n - 2.0) * spread / math.sqrt(width)
    estimator = f"least squares over log2(samples), {n} trainings of one recipe"
    gain = between(slope, slope - half, slope + half, "tokens/cycle", estimator=estimator, n=n)
    return LearningCurve(points=tuple(sorted(points, key=lambda p: p.samples)), per_doubling=gain, spread=spread)


def on_curve(curve: LearningCurve, samples: float, *, steps: int) -> Estimate | Refusal:
    """Accept length to expect of one more training at `samples`, with its prediction interval, cut to steps + 1.

    Refused further than two doublings beyond the largest training. Raises FigureError for no number of samples.
    """
    beyond = math.log2(positive("samples", samples) / curve.points[-1].samples)
    if beyond > FURTHEST_DOUBLINGS:
        reason = (
            f"{samples:,.0f} samples are {beyond:.1f} doublings beyond the largest training; a line is not drawn "
            f"further than {FURTHEST_DOUBLINGS:g}"
        )
        return Refusal(kind="too-few", reason=reason)
    n = len(curve.points)
    mean_x, mean_y = curve.middle
    away = math.log2(samples) - mean_x
    width = math.fsum((math.log2(p.samples) - mean_x) ** 2 for p in curve.points)
    half = t_quantile(0.95, n - 2.0) * curve.spread * math.sqrt(1.0 + 1.0 / n + away**2 / width)
    most = steps + 1.0
    value = min(max(mean_y + curve.per_doubling.value * away, 1.0), most)
    low, high = max(value - half, 1.0), min(value + half, most)
    return between(value, low, high, "tokens/cycle", estimator=curve.per_doubling.estimator, n=n)


def samples_for(curve: LearningCurve, wished: float) -> tuple[float, float | None]:
    """Fewest and most samples for an accept length, by both ends of the gain; None where the gain may be nothing.

    Never fewer than a training that did not reach it had.

    Raises FigureError when the curve does not rise at all.
    """
    gain = curve.per_doubling
    if gain.high <= 0.0:
        raise FigureError(
            "the curve does not rise: more data of this kind bring nothing", next_step="change the recipe"
        )
    mean_x, mean_y = curve.middle
    missing = wished - mean_y
    ends = [mean_x + missing / slope for slope in (gain.high, gain.low) if slope > 0.0]
    powers = [2.0**end if end < 60.0 else None for end in ends]
    few = powers[0] if powers[0] is not None else 2.0**60
    short = max((point.samples for point in curve.points if point.accept_length < wished), default=0.0)
    few = max(few, short)
    return few, powers[1] if len(powers) > 1 else None
