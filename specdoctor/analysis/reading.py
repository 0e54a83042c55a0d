"""What measured figures most likely mean: thresholds between healthy, worth a look, and a fault.

A reading is a hint with rivals, never a verdict. The thresholds come from runs on live servers and public curves; those
without such a source are marked as chosen.
"""

from __future__ import annotations

from typing import Literal

from specdoctor.analysis.acceptance import Chain
from specdoctor.analysis.figure import accept_length, draft_steps, duration_ms
from specdoctor.analysis.interval import Estimate, ratio
from specdoctor.core.model import Frozen

HEALTHY_TAX = 1.3
FAULTY_TAX = 1.8
HARMLESS_EXCESS_MS = 3.0
UNALIGNED_ACCEPT_LENGTH = 1.1
CEILING_SHARE = 0.97
COLLAPSE = 0.5
FIRST_POSITION_SLACK = 0.1
UNIFORM_WITHIN = 0.05

TaxReading = Literal["healthy", "look", "system-fault", "small-target"]


class Tax(Frozen):
    """Fixed part of the cycle over the baseline step, as ratio and as excess in ms, with its reading.

    "small-target": the ratio is high but the excess is only a few ms of host time, which a fast target cannot hide.
    """

    ratio: float
    excess_ms: float
    reading: TaxReading


def read_tax(*, fixed_ms: float, baseline_step_ms: float) -> Tax:
    """Judge F / t0 together with F - t0: to 1.3 healthy, to 1.8 worth a look, above it a system fault.

    An excess under 3 ms (chosen; 1.9 ms was seen without a fault) is never a fault on its ratio alone.
    """
    fixed, step = duration_ms("fixed part", fixed_ms), duration_ms("baseline step", baseline_step_ms)
    excess, value = fixed - step, fixed / step
    reading: TaxReading = "healthy"
    if value > HEALTHY_TAX:
        reading = "look"
        if value > FAULTY_TAX:
            reading = "small-target" if excess < HARMLESS_EXCESS_MS else "system-fault"
    return Tax(ratio=value, excess_ms=excess, reading=reading)


AcceptLengthReading = Literal["not-aligned", "plain", "near-maximum"]


def read_accept_length(length: float, *, steps: int) -> AcceptLengthReading:
    """Judge the level of an accept length.

    "not-aligned" (up to 1.1): the drafter predicts nothing: wrong head, wrong hidden states, a missing norm.
    "near-maximum" (97 % of steps + 1, chosen, from 3 steps on): look for repeating text, degenerate output, random
    prompts, a forced accept length.
    """
    value = accept_length(length, steps=draft_steps(steps))
    if steps > 0 and value <= UNALIGNED_ACCEPT_LENGTH:
        return "not-aligned"
    if steps >= 3 and value >= CEILING_SHARE * (steps + 1):
        return "near-maximum"
    return "plain"


class PositionReading(Frozen):
    """Where along the chain acceptance is lost, with the figures it was read from.

    "first-low": the first draft is already worse than its family's range: taps and layer ids, template, vocabulary,
    quantised target, temperature. "recursion": the first is fine and the second or third collapses: positions, the
    drafter's cache, too few training steps.
    """

    kind: Literal["first-low", "recursion", "plain"]
    position: int | None
    text: str


def read_positions(chain: Chain, *, least_first: float | None = None) -> PositionReading:
    """Judge conditional acceptance by position; `least_first` is the low end of the family's range for a_1.

    A collapse is a second or third rate under half the first (chosen: healthy chains keep 0.65 or more).
    """
    rates = chain.conditional
    if not rates:
        return PositionReading(kind="plain", position=None, text="no draft steps")
    if least_first is not None and rates[0] < least_first - FIRST_POSITION_SLACK:
        text = f"a_1 {rates[0]:.2f} is below {least_first:.2f} by more than {FIRST_POSITION_SLACK:g}"
        return PositionReading(kind="first-low", position=1, text=text)
    for position in (2, 3):
        if len(rates) >= position and chain.marginal[position - 2] > 0.0 and rates[position - 1] < COLLAPSE * rates[0]:
            text = f"a_{position} {rates[position - 1]:.2f} is under half of a_1 {rates[0]:.2f}"
            return PositionReading(kind="recursion", position=position, text=text)
    return PositionReading(kind="plain", position=None, text=f"a_1 {rates[0]:.2f}, no collapse behind it")


SlowDownKind = Literal["uniform", "cycle-more", "baseline-more", "undecided"]


class SlowDown(Frozen):
    """Change of the baseline step and of the cycle between two states (later over earlier).

    "uniform": both by the same factor within 5 % (clocks, power). "cycle-more": launch-bound causes (CPU, NUMA, lost
    graphs) or the drafting path alone; excludes a uniform slow-down of the GPU. "undecided": the intervals allow both.
    """

    baseline_factor: Estimate
    cycle_factor: Estimate
    excess: Estimate
    kind: SlowDownKind


def compare_slow_down(
    *, step_before: Estimate, step_after: Estimate, cycle_before: Estimate, cycle_after: Estimate
) -> SlowDown:
    """Tell a uniform slow-down from one that hits the speculative cycle more; all four in ms at the same load."""
    baseline = ratio(step_after, step_before, unit="ratio", estimator="baseline step, after / before")
    cycle = ratio(cycle_after, cycle_before, unit="ratio", estimator="cycle, after / before")
    excess = ratio(cycle, baseline, unit="ratio", estimator="slow-down of the cycle / of the baseline")
    kind: SlowDownKind = "undecided"
    if excess.low > 1.0 + UNIFORM_WITHIN:
        kind = "cycle-more"
    elif excess.high < 1.0 - UNIFORM_WITHIN:
        kind = "baseline-more"
    elif excess.low >= 1.0 - UNIFORM_WITHIN and excess.high <= 1.0 + UNIFORM_WITHIN:
        kind = "uniform"
    return SlowDown(baseline_factor=baseline, cycle_factor=cycle, excess=excess, kind=kind)
