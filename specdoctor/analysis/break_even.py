"""Break-even from a few typed figures: what speculation must reach at this cycle, and whether it can."""

from __future__ import annotations

from typing import Literal

from specdoctor.analysis.cycle import (
    IdentityGap,
    Required,
    baseline_step_ms,
    break_even_accept_length,
    break_even_cycle_ms,
    identity_gap,
    required_accept_length,
    speed_up,
)
from specdoctor.analysis.figure import accept_length, duration_ms, positive
from specdoctor.core.model import Frozen

Payoff = Literal["gains", "loses", "even"]


class BreakEvenFigures(Frozen):
    """Typed figures of one request at one load: throughputs in tok/s, the cycle in ms, the accept length with bonus.

    `baseline_tok_s` is without speculation, `throughput_tok_s` with it, `target_tok_s` is wished for. `cycle_derived`:
    the cycle was calculated from accept length and throughput, so that these two agree with it by themselves.
    """

    baseline_tok_s: float
    cycle_ms: float
    accept_length: float | None = None
    target_tok_s: float | None = None
    throughput_tok_s: float | None = None
    draft_steps: int | None = None
    cycle_derived: bool = False


class BreakEven(Frozen):
    """Both sides of break-even, c / t0 and AL * t0, and what the figures at hand give.

    `required` is what the target needs, else what the baseline needs; None without draft steps. `speedup` is by accept
    length and cycle (decode alone), `speedup_measured` by the throughput given; `gap` is how far the two disagree.
    """

    figures: BreakEvenFigures
    baseline_step_ms: float
    break_even_accept_length: float
    break_even_cycle_ms: float | None
    accept_length_for_target: float | None
    required: Required | None
    speedup: float | None
    speedup_measured: float | None
    gap: IdentityGap | None

    @property
    def feasible(self) -> bool | None:
        """Whether the draft steps can reach what is required; None where no draft steps were given."""
        return None if self.required is None else self.required.obstacle is None

    @property
    def payoff(self) -> Payoff | None:
        """By accept length and cycle; None without an accept length."""
        if self.speedup is None:
            return None
        return "gains" if self.speedup > 1.0 else "loses" if self.speedup < 1.0 else "even"


def break_even(figures: BreakEvenFigures) -> BreakEven:
    """Calculate. Raises FigureError for figures that cannot be.

    Such are a throughput of zero or less, a cycle outside 0.1 to 10000 ms, and an accept length below 1 or above
    steps + 1.
    """
    baseline, cycle_ms, length = figures.baseline_tok_s, figures.cycle_ms, figures.accept_length
    target, throughput, steps = figures.target_tok_s, figures.throughput_tok_s, figures.draft_steps
    step_ms = baseline_step_ms(baseline)
    duration_ms("cycle", cycle_ms)
    if length is not None:
        accept_length(length, steps=steps)
    aim = baseline if target is None else positive("target throughput", target)
    gap = None
    if throughput is not None and length is not None:
        gap = identity_gap(throughput=throughput, cycle_ms=cycle_ms, length=length)
    return BreakEven(
        figures=figures,
        baseline_step_ms=step_ms,
        break_even_accept_length=break_even_accept_length(cycle_ms, step_ms),
        break_even_cycle_ms=None if length is None else break_even_cycle_ms(length, step_ms),
        accept_length_for_target=None if target is None else target * cycle_ms / 1000.0,
        required=None if steps is None else required_accept_length(target=aim, cycle_ms=cycle_ms, steps=steps),
        speedup=None if length is None else speed_up(length, cycle_ms, step_ms),
        speedup_measured=None if throughput is None else positive("throughput", throughput) / baseline,
        gap=gap,
    )
