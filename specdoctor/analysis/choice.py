"""Which number of draft steps is best, and whether it beats running without speculation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from specdoctor.analysis.cycle import estimated_throughput
from specdoctor.analysis.figure import FigureError, fraction, not_negative, positive
from specdoctor.analysis.fit import CycleFit
from specdoctor.analysis.interval import Estimate, exact, from_error
from specdoctor.core.model import Frozen

DEFAULT_NOISE = 0.01


def marginal_threshold(throughput: float, per_step_ms: float) -> float:
    """The least S_(k+1) for which one more draft step pays: T(k) * s / 1000 (T per request)."""
    return positive("throughput", throughput) * not_negative("time per draft step", per_step_ms) / 1000.0


def worth_one_more(next_marginal: float, *, throughput: float, per_step_ms: float) -> bool:
    """Marginal rule: going from k to k + 1 helps iff S_(k+1) exceeds the threshold.

    With S non-increasing T(k) has one maximum, so the first failure ends the search.
    """
    return fraction("next marginal acceptance", next_marginal) > marginal_threshold(throughput, per_step_ms)


class Prediction(Frozen):
    """Throughput predicted at `steps` from an accept length and the fitted cycle."""

    steps: int
    accept_length: Estimate
    cycle: Estimate
    throughput: Estimate


def predict(lengths: Mapping[int, Estimate], fit: CycleFit) -> tuple[Prediction, ...]:
    """Predict T at each k for which an accept length is given; relative variances of AL and cycle add.

    Without a known error of the fit the cycle enters as exact, and its estimator says so.
    """
    found = []
    for steps, length in sorted(lengths.items()):
        value, error = fit.cycle_ms(steps), fit.cycle_se_ms(steps)
        name = f"{fit.method} over {', '.join(map(str, fit.steps))} steps"
        if error is None:
            cycle = exact(value, "ms", estimator=f"{name}, error unknown")
        else:
            cycle = from_error(value, error, "ms", estimator=name, n=len(fit.steps), floor=value / 2.0)
        throughput = estimated_throughput(length, cycle)
        found.append(Prediction(steps=steps, accept_length=length, cycle=cycle, throughput=throughput))
    return tuple(found)


Advice = Literal["on", "off", "unsure"]


class Choice(Frozen):
    """Best draft steps by predicted throughput, all that are within noise of it, and the smallest of these.

    `advice` compares the best with the baseline: "off" when its whole interval lies below the baseline's, "on" when it
    lies above, else "unsure"; None without a baseline.
    """

    best: Prediction
    within_noise: tuple[int, ...]
    chosen: Prediction
    advice: Advice | None


def best_steps(
    predictions: tuple[Prediction, ...], *, noise: float = DEFAULT_NOISE, baseline: Estimate | None = None
) -> Choice:
    """Choose among predictions; `noise` is the relative difference in throughput that cannot be told apart.

    Raises FigureError when there is no prediction.
    """
    if not predictions:
        raise FigureError("no prediction to choose from", next_step="measure one more draft length")
    best = max(predictions, key=lambda p: (p.throughput.value, -p.steps))
    least = best.throughput.value * (1.0 - fraction("noise", noise))
    near = sorted((p for p in predictions if p.throughput.value >= least), key=lambda p: p.steps)
    advice: Advice | None = None
    if baseline is not None:
        advice = "unsure"
        if best.throughput.high < baseline.low:
            advice = "off"
        elif best.throughput.low > baseline.high:
            advice = "on"
    return Choice(best=best, within_noise=tuple(p.steps for p in near), chosen=near[0], advice=advice)
