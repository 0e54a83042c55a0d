"""The cycle from log lines: which intervals between two lines are clean, and their median."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from specdoctor.analysis.cycle import cycle_from_log_ms
from specdoctor.analysis.interval import Estimate, between
from specdoctor.analysis.refusal import Refusal
from specdoctor.analysis.stats import LEAST_BLOCKS, two_states
from specdoctor.core.model import Frozen

LEAST_STATE_SHARE = 0.10


class LogInterval(Frozen):
    """What one decode log line says about the interval since the line before.

    `throughput_tok_s` is over all running requests; `accept_length` is None without speculation; `tokens_held` is the
    count of tokens in the cache (0 on a step without living requests); `steps` is the active number of draft steps,
    None when it is fixed and known from elsewhere.
    """

    running: int
    running_before: int
    throughput_tok_s: float
    accept_length: float | None = None
    tokens_held: int = 1
    steps: int | None = None
    has_prefill: bool = False
    after_idle: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether the interval holds nothing but decode steps of the same requests."""
        steady = self.running == self.running_before and self.running > 0 and self.tokens_held > 0
        return steady and not self.has_prefill and not self.after_idle and self.throughput_tok_s > 0

    @property
    def cycle_ms(self) -> float:
        """Cycle (decode step without speculation) in ms. Raises FigureError for an impossible one."""
        length = 1.0 if self.accept_length is None else self.accept_length
        return cycle_from_log_ms(running=self.running, length=length, throughput=self.throughput_tok_s)


def median_cycle(
    intervals: Sequence[LogInterval], *, running: int | None = None, steps: int | None = None
) -> Estimate | Refusal:
    """Median cycle in ms of the clean intervals, with a distribution-free interval from order statistics.

    Restrict by `running` and `steps` where they change during a run: mixed ones are refused, as are fewer than three
    clean intervals and two states.
    """
    clean = [i for i in intervals if i.is_clean and running in (None, i.running) and steps in (None, i.steps)]
    if len(clean) < LEAST_BLOCKS:
        reason = f"{len(clean)} of {len(intervals)} log intervals are clean (steady requests, no prefill); 3 are needed"
        return Refusal(kind="too-few", reason=reason)
    loads, active = sorted({i.running for i in clean}), {i.steps for i in clean}
    if len(loads) > 1:
        return Refusal(kind="mixed-load", reason=f"clean intervals with {loads} running requests; choose one")
    if len(active) > 1:
        return Refusal(kind="mixed-steps", reason="the number of draft steps changes between the intervals; choose one")
    cycles = sorted(i.cycle_ms for i in clean)
    states = two_states(cycles, least_share=LEAST_STATE_SHARE)
    if states is not None:
        return Refusal(
            kind="two-states",
            reason=f"two states: {states.low_median:.3g} ms ({states.low_count} intervals) and "
            f"{states.high_median:.3g} ms ({states.high_count}); a median of both describes neither",
        )
    low, high, level = _median_ends(cycles)
    return between(
        statistics.median(cycles),
        low,
        high,
        "ms",
        estimator=f"median of {len(cycles)} clean log intervals at {loads[0]} running{level}",
        n=len(cycles),
    )


def _median_ends(ordered: Sequence[float]) -> tuple[float, float, str]:
    """Ends of the 95 % interval of the median; the full range, with a note, when there are too few values for it."""
    n = len(ordered)
    tail, rank = 0.0, 0
    while rank < n // 2:
        tail += math.comb(n, rank) / 2**n
        if 2.0 * tail > 0.05:
            break
        rank += 1
    if rank == 0:
        return ordered[0], ordered[-1], f", full range ({1.0 - 2.0 ** (1 - n):.0%})"
    return ordered[rank - 1], ordered[n - rank], ""
