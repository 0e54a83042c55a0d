"""The throughput identity T = 1000 * AL / c and what follows from it.

T in tokens per second per request, c (cycle) and t0 (decode step without speculation) in ms, AL in tokens per cycle
with the bonus token. Figures come as floats; the functions on Estimates carry intervals.
"""

from __future__ import annotations

from typing import Literal

from specdoctor.analysis.acceptance import equal_rate
from specdoctor.analysis.figure import FigureError, accept_length, draft_steps, duration_ms, finite, positive
from specdoctor.analysis.interval import Estimate, Unit, product, ratio, scale
from specdoctor.core.model import Frozen

HARDEST_EQUAL_RATE = 0.90
GAP_IS_FINDING = 0.05
GAP_BLOCKS_FIT = 0.10
ROUNDING = 1e-9


def throughput_tok_s(length: float, cycle_ms: float) -> float:
    """Throughput of one request: 1000 * AL / c."""
    return 1000.0 * accept_length(length) / duration_ms("cycle", cycle_ms)


def cycle_from_throughput_ms(length: float, throughput: float) -> float:
    """Cycle from accept length and throughput of the same window, one request: c = 1000 * AL / T."""
    return duration_ms("cycle", 1000.0 * accept_length(length) / positive("throughput", throughput))


def cycle_from_log_ms(*, running: int, length: float, throughput: float) -> float:
    """Cycle of a log line whose throughput is over all `running` requests: 1000 * running * AL / throughput.

    Without speculation give length 1: the result is then the decode step.
    """
    batch = positive("running requests", running)
    return duration_ms("cycle", 1000.0 * batch * accept_length(length) / positive("throughput", throughput))


def baseline_step_ms(throughput: float) -> float:
    """t0 from the throughput of one request without speculation."""
    return duration_ms("baseline step", 1000.0 / positive("baseline throughput", throughput))


def break_even_accept_length(cycle_ms: float, step_ms: float) -> float:
    """The accept length this cycle needs to equal the baseline step: c / t0."""
    return duration_ms("cycle", cycle_ms) / duration_ms("baseline step", step_ms)


def break_even_cycle_ms(length: float, step_ms: float) -> float:
    """The longest cycle with which this accept length still equals the baseline: AL * t0."""
    return accept_length(length) * duration_ms("baseline step", step_ms)


def speed_up(length: float, cycle_ms: float, step_ms: float) -> float:
    """Throughput over the baseline's: AL * t0 / c."""
    return accept_length(length) / break_even_accept_length(cycle_ms, step_ms)


def decode_throughput_tok_s(
    *, tokens: int, tokens_in_first_chunk: int, first_chunk_s: float, last_chunk_s: float
) -> float | None:
    """Decode-only throughput of a streamed request; None for one chunk, where it is undefined."""
    elapsed = finite("last chunk", last_chunk_s) - finite("first chunk", first_chunk_s)
    rest = tokens - tokens_in_first_chunk
    if rest < 0 or elapsed < 0:
        raise FigureError(f"{rest} tokens in {elapsed:g} s after the first chunk", next_step="check the stream's order")
    return rest / elapsed if rest and elapsed else None


GapReading = Literal["consistent", "finding", "blocks-fit"]


class IdentityGap(Frozen):
    """How far T, c and AL of one window miss T = 1000 * AL / c.

    `gap` = 1 - T * c / (1000 * AL); positive means slower than cycle and accept length say (prefill inside the clock,
    queueing, another window).
    """

    gap: float
    implied_accept_length: float
    reading: GapReading


def identity_gap(*, throughput: float, cycle_ms: float, length: float) -> IdentityGap:
    """Compare the three figures of one window: beyond 5 % a finding, beyond 10 % no fit may use them."""
    implied = positive("throughput", throughput) * duration_ms("cycle", cycle_ms) / 1000.0
    gap = 1.0 - implied / accept_length(length)
    reading: GapReading = "consistent"
    if abs(gap) > GAP_IS_FINDING:
        reading = "blocks-fit" if abs(gap) > GAP_BLOCKS_FIT else "finding"
    return IdentityGap(gap=gap, implied_accept_length=implied, reading=reading)


Obstacle = Literal["above-maximum", "needs-rate-over-0.90"]


class Required(Frozen):
    """Accept length that a target throughput needs at a cycle.

    `equal_rate` is the conditional acceptance, equal at all positions, that gives it (None above the maximum and for
    k = 0; 0 when even rejecting everything suffices). `obstacle` is None when the target is within reach.
    """

    accept_length: float
    equal_rate: float | None
    obstacle: Obstacle | None


def required_accept_length(*, target: float, cycle_ms: float, steps: int) -> Required:
    """Accept length needed for `target` tok/s per request at this cycle, and whether `steps` drafts can give it."""
    needed = positive("target throughput", target) * duration_ms("cycle", cycle_ms) / 1000.0
    if needed > (draft_steps(steps) + 1) * (1.0 + ROUNDING):
        return Required(accept_length=needed, equal_rate=None, obstacle="above-maximum")
    rate = equal_rate(min(max(1.0, needed), steps + 1.0), steps)
    hard = rate is not None and rate > HARDEST_EQUAL_RATE
    return Required(accept_length=needed, equal_rate=rate, obstacle="needs-rate-over-0.90" if hard else None)


def estimated_throughput(length: Estimate, cycle: Estimate) -> Estimate:
    """Throughput in tok/s from an accept length and a cycle that were measured independently."""
    _cycle(cycle)
    length = _in(length, "tokens/cycle")
    return scale(ratio(length, cycle, unit="tok/s", estimator="accept length / cycle"), 1000.0)


def estimated_cycle(length: Estimate, throughput: Estimate) -> Estimate:
    """Cycle in ms from accept length and throughput of the same window."""
    length, throughput = _in(length, "tokens/cycle"), _in(throughput, "tok/s")
    return scale(ratio(length, throughput, unit="ms", estimator="accept length / throughput"), 1000.0)


def estimated_break_even(cycle: Estimate, baseline: Estimate) -> Estimate:
    """Break-even accept length from a cycle (ms) and a baseline throughput (tok/s): T0 * c / 1000."""
    _cycle(cycle)
    return scale(
        product(cycle, _in(baseline, "tok/s"), unit="tokens/cycle", estimator="cycle * baseline throughput"), 0.001
    )


def estimated_break_even_cycle(length: Estimate, baseline: Estimate) -> Estimate:
    """Longest cycle in ms with which this accept length equals the baseline throughput (tok/s): AL * t0."""
    length, baseline = _in(length, "tokens/cycle"), _in(baseline, "tok/s")
    return scale(ratio(length, baseline, unit="ms", estimator="accept length / baseline throughput"), 1000.0)


def _cycle(cycle: Estimate) -> None:
    duration_ms("cycle", _in(cycle, "ms").value)


def _in(estimate: Estimate, unit: Unit) -> Estimate:
    if estimate.unit != unit:
        raise FigureError(f"{estimate.with_unit()} is given where {unit} is meant", next_step=f"give it in {unit}")
    return estimate
