"""What a drafter would give once it is fed as it was trained: its own acceptance over the cycles that were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from specdoctor.analysis.acceptance import chain_from_conditional
from specdoctor.analysis.interval import NORMAL_95
from specdoctor.analysis.launches import measured_launches
from specdoctor.core.estimate import Estimate
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Frozen, Status

LAUNCH_SPREAD = 0.05
"""Relative spread between two starts of one setting, assumed."""


class Expected(Frozen):
    """One client, chain of `steps` drafts: accept length with the bonus token over the cycle, as throughput."""

    steps: int
    accept_length: float
    throughput: Estimate
    lengths: tuple[float, float]
    """Accept length at the low and at the high ends of the rates."""


def expected(
    conditional: Sequence[Estimate], cycles: Mapping[int, Estimate], *, harder: float = 0.0
) -> tuple[Expected, ...]:
    """For each chain from the shortest to the longest whose cycle (ms) was measured, shortest first.

    Between two measured chains the cycle is a straight line in the steps; beyond the given rates the last one is held.
    The interval holds those of the rates, of the cycles and the spread between starts; `harder` is the share of
    accepted drafts that texts other than those the rates are of may cost. Empty without rates or cycles.
    """
    if not conditional or not cycles:
        return ()
    first, last = min(cycles), max(cycles)
    chains = range(first, last + 1)
    at = {k: _cycle(k, cycles[first], cycles[last], first, last) for k in chains}
    return tuple(_at(k, conditional, at[k], harder) for k in chains)


def best(found: Sequence[Expected]) -> Expected:
    """The fastest; of equal ones the shortest chain."""
    return max(found, key=lambda one: one.throughput.value)


def _cycle(steps: int, short: Estimate, long: Estimate, first: int, last: int) -> tuple[float, float]:
    """Cycle in ms and its half width, by the line through two chains."""
    share = (steps - first) / (last - first) if last > first else 0.0
    value = short.value + share * (long.value - short.value)
    half = math.hypot((1.0 - share) * short.width / 2.0, share * long.width / 2.0)
    return value, half


def _at(steps: int, conditional: Sequence[Estimate], cycle: tuple[float, float], harder: float) -> Expected:
    rates = [*conditional, *[conditional[-1]] * steps][:steps]
    ends = ("value", "low", "high")
    length, low, high = (chain_from_conditional([getattr(r, end) for r in rates]).accept_length for end in ends)
    low = 1.0 + (1.0 - harder) * (low - 1.0)
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
    return Expected(steps=steps, accept_length=length, throughput=throughput, lengths=(low, high))


def chains(ledger: Ledger) -> dict[int, Estimate]:
    """The cycle of each chain that was benchmarked for one client, by its steps; of several the newest.

    Only of launches that differ from the server as found in the draft length alone: others may have other cycles.
    """
    return {
        m.figures.setting.draft_steps: m.figures.step
        for m in measured_launches(ledger, 1)
        if m.figures.setting.is_chain
    }


def repaired_in_vain(ledger: Ledger, cause: str | None) -> bool:
    """Whether the repair of a cause was tried and left the accept length where it was, by the interval as found."""
    for h in ledger.hypotheses.values():
        prediction = h.prediction
        if h.cause != cause or h.answers != "repairs" or h.status is Status.SUPPORTED or prediction is None:
            continue
        after = ledger.measured(prediction.under, concurrency=prediction.concurrency)
        found = ledger.measured("original", concurrency=prediction.concurrency)
        lengths = [m.accept_length if m is not None else None for m in (after, found)]
        if prediction.metric == "accept_length" and lengths[0] is not None and lengths[1] is not None:
            return lengths[0].value <= lengths[1].high
    return False
