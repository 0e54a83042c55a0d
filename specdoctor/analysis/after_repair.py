"""What a drafter would give once it is fed as it was trained: its own acceptance over the cycles that were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from specdoctor.analysis.acceptance import chain_from_conditional
from specdoctor.analysis.interval import NORMAL_95
from specdoctor.core.estimate import Estimate
from specdoctor.core.model import Frozen

LAUNCH_SPREAD = 0.05
"""Relative spread between two starts of one setting, assumed."""


class Expected(Frozen):
    """One client, chain of `steps` drafts: accept length with the bonus token over the cycle, as throughput."""

    steps: int
    accept_length: float
    throughput: Estimate


def expected(conditional: Sequence[Estimate], cycles: Mapping[int, Estimate]) -> tuple[Expected, ...]:
    """For each chain from the shortest to the longest whose cycle (ms) was measured, shortest first.

    Between two measured chains the cycle is a straight line in the steps; beyond the given rates the last one is held.
    The interval holds those of the rates, of the cycles and the spread between starts. Empty without rates or cycles.
    """
    if not conditional or not cycles:
        return ()
    first, last = min(cycles), max(cycles)
    chains = range(first, last + 1)
    return tuple(_at(k, conditional, _cycle(k, cycles[first], cycles[last], first, last)) for k in chains)


def best(found: Sequence[Expected]) -> Expected:
    """The fastest; of equal ones the shortest chain."""
    return max(found, key=lambda one: one.throughput.value)


def _cycle(steps: int, short: Estimate, long: Estimate, first: int, last: int) -> tuple[float, float]:
    """Cycle in ms and its half width, by the line through two chains."""
    share = (steps - first) / (last - first) if last > first else 0.0
    value = short.value + share * (long.value - short.value)
    half = math.hypot((1.0 - share) * short.width / 2.0, share * long.width / 2.0)
    return value, half


def _at(steps: int, conditional: Sequence[Estimate], cycle: tuple[float, float]) -> Expected:
    rates = [*conditional, *[conditional[-1]] * steps][:steps]
    ends = ("value", "low", "high")
    length, low, high = (chain_from_conditional([getattr(r, end) for r in rates]).accept_length for end in ends)
    spread = math.hypot(NORMAL_95 * LAUNCH_SPREAD, cycle[1] / cycle[0])
    value = 1000.0 * length / cycle[0]
    tail = f", the last of {len(conditional)} rates held" if steps > len(conditional) else ""
    throughput = Estimate(
        value=value,
        low=value * (1.0 - math.hypot(spread, 1.0 - low / length)),
        high=value * (1.0 + math.hypot(spread, high / length - 1.0)),
        unit="tok/s",
        estimator=f"predicted: acceptance of the drafter alone{tail}, over the measured cycle",
        n=conditional[0].n,
    )
    return Expected(steps=steps, accept_length=length, throughput=throughput)
