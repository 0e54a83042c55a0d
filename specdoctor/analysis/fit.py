"""The cycle as a line over draft steps, c(k) = F + s * k, and the fixed tax of speculation F / t0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from specdoctor.analysis.cycle import GAP_BLOCKS_FIT
from specdoctor.analysis.figure import draft_steps, duration_ms, positive
from specdoctor.analysis.interval import NORMAL_95
from specdoctor.analysis.refusal import Refusal
from specdoctor.core.model import Frozen

LEAST_INTERCEPT_SHARE = 0.8


class CyclePoint(Frozen):
    """A cycle measured at `steps` draft steps (topk 1), with its variance in ms^2 if known.

    `gap` is the identity gap of its window; `state` names the state of the system (fingerprint), because points of two
    states do not lie on one line.
    """

    steps: int
    cycle_ms: float
    variance: float | None = None
    gap: float | None = None
    state: str = ""


FitMethod = Literal["exact line", "least squares", "weighted least squares"]


class CycleFit(Frozen):
    """c(k) = fixed_ms + per_step_ms * k.

    Standard errors and covariance (ms, ms, ms^2) are None when two points of unknown variance gave the line. Drafting
    and verifying one more token are not separable at topk 1; `per_step_ms` is their sum.
    """

    fixed_ms: float
    per_step_ms: float
    fixed_se_ms: float | None = None
    per_step_se_ms: float | None = None
    covariance: float | None = None
    method: FitMethod
    steps: tuple[int, ...]

    def cycle_ms(self, steps: int) -> float:
        """The line at `steps`."""
        return self.fixed_ms + self.per_step_ms * draft_steps(steps)

    def cycle_se_ms(self, steps: int) -> float | None:
        """Standard error of the line at `steps`; None when unknown."""
        if self.fixed_se_ms is None or self.per_step_se_ms is None or self.covariance is None:
            return None
        variance = self.fixed_se_ms**2 + 2.0 * steps * self.covariance + (steps * self.per_step_se_ms) ** 2
        return math.sqrt(max(0.0, variance))

    @property
    def slope_differs_from_zero(self) -> bool | None:
        """Whether drafting more costs time beyond the noise; None when the noise is unknown."""
        if self.per_step_se_ms is None:
            return None
        return self.per_step_ms > NORMAL_95 * self.per_step_se_ms


def fit_cycle(points: Sequence[CyclePoint], *, baseline_step_ms: float | None = None) -> CycleFit | Refusal:
    """Fit the line: exact through two draft lengths, least squares through more (weights 1/variance if all known).

    Points of equal k are averaged first. Refused: fewer than two points, one draft length only (keep the cycle itself),
    points of two system states, an identity gap over 10 %, a negative slope, and an intercept below 0.8 of the baseline
    step (checked when `baseline_step_ms` is given). Raises FigureError for an impossible cycle or variance.
    """
    refused = _unfit(points)
    if refused is not None:
        return refused
    weighted = all(point.variance is not None for point in points)
    merged = _merged(points, weighted=weighted)
    if len(merged) == 1:
        steps, (cycle, _) = next(iter(merged.items()))
        reason = f"only {steps} draft steps were measured ({cycle:.3g} ms); a line needs a second draft length"
        return Refusal(kind="one-draft-length", reason=reason)
    fit = _line(merged, weighted=weighted)
    if fit.per_step_ms < 0:
        reason = (
            f"the cycle falls by {-fit.per_step_ms:.3g} ms per draft step: other load or state, not cheaper drafting"
        )
        return Refusal(kind="negative-slope", reason=reason)
    if baseline_step_ms is not None:
        least = LEAST_INTERCEPT_SHARE * duration_ms("baseline step", baseline_step_ms)
        if fit.fixed_ms < least:
            reason = f"fixed part {fit.fixed_ms:.3g} ms is below 0.8 of the baseline step {baseline_step_ms:.3g} ms"
            return Refusal(kind="intercept-below-baseline", reason=reason)
    return fit


def _unfit(points: Sequence[CyclePoint]) -> Refusal | None:
    """Why these points must not be put on one line."""
    for point in points:
        draft_steps(point.steps)
        duration_ms(f"cycle at {point.steps} steps", point.cycle_ms)
        if point.variance is not None:
            positive(f"variance at {point.steps} steps", point.variance)
    if len(points) < 2:
        return Refusal(kind="too-few", reason=f"{len(points)} measured cycle(s); a line needs two draft lengths")
    states = sorted({point.state for point in points})
    if len(states) > 1:
        return Refusal(
            kind="states-differ", reason=f"points of different system states: {', '.join(map(repr, states))}"
        )
    for point in points:
        if point.gap is not None and not abs(point.gap) <= GAP_BLOCKS_FIT:
            reason = f"at {point.steps} steps throughput, cycle and accept length disagree by {abs(point.gap):.1%}"
            return Refusal(kind="identity-gap", reason=reason)
    return None


def _merged(points: Sequence[CyclePoint], *, weighted: bool) -> dict[int, tuple[float, float]]:
    """Cycle and weight (inverse variance, else 1) for each draft length."""
    merged: dict[int, tuple[float, float]] = {}
    for steps in sorted({point.steps for point in points}):
        same = [point for point in points if point.steps == steps]
        weights = [1.0 / p.variance if weighted and p.variance is not None else 1.0 for p in same]
        total = math.fsum(weights)
        mean = math.fsum(w * p.cycle_ms for w, p in zip(weights, same, strict=True)) / total
        merged[steps] = (mean, total if weighted else 1.0)
    return merged


def _line(merged: dict[int, tuple[float, float]], *, weighted: bool) -> CycleFit:
    """Weighted least squares; through two draft lengths the line is exact."""
    rows = [(float(steps), cycle, weight) for steps, (cycle, weight) in merged.items()]
    total = math.fsum(w for _, _, w in rows)
    mean_k = math.fsum(w * k for k, _, w in rows) / total
    mean_c = math.fsum(w * c for _, c, w in rows) / total
    spread = math.fsum(w * (k - mean_k) ** 2 for k, _, w in rows)
    slope = math.fsum(w * (k - mean_k) * (c - mean_c) for k, c, w in rows) / spread
    fixed = mean_c - slope * mean_k
    noise: float | None = 1.0 if weighted else None
    if not weighted and len(rows) > 2:
        noise = math.fsum((c - fixed - slope * k) ** 2 for k, c, _ in rows) / (len(rows) - 2)
    method: FitMethod = "exact line"
    if len(rows) > 2:
        method = "weighted least squares" if weighted else "least squares"
    if noise is None:
        return CycleFit(fixed_ms=fixed, per_step_ms=slope, method=method, steps=tuple(merged))
    return CycleFit(
        fixed_ms=fixed,
        per_step_ms=slope,
        fixed_se_ms=math.sqrt(noise * (1.0 / total + mean_k**2 / spread)),
        per_step_se_ms=math.sqrt(noise / spread),
        covariance=-noise * mean_k / spread,
        method=method,
        steps=tuple(merged),
    )
