"""The search for the fastest setting: the next launch worth its downtime, or that there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from specdoctor.analysis.draft_setting import LONGEST_USUAL, OFF, DraftSetting
from specdoctor.analysis.forecast import Forecast, forecast
from specdoctor.analysis.interval import Estimate
from specdoctor.analysis.launch_figures import LaunchFigures
from specdoctor.analysis.launches import MeasuredLaunch
from specdoctor.analysis.refusal import Refusal
from specdoctor.analysis.search import WORTH_A_LAUNCH, chosen, likeliest_rival, worth_of_launches
from specdoctor.core.model import Frozen

Launches = Mapping[int, Sequence[MeasuredLaunch]]
"""What was measured, by concurrency."""

_LONG_ENOUGH = 5
"""A chain of so many steps tells how acceptance falls; without one the search begins with one of eight."""


class NextLaunch(Frozen):
    """The launch to make next, with why. `expected` is its predicted throughput by concurrency, where one can be made.

    `setting` None: the search is over.
    """

    setting: DraftSetting | None
    why: str
    expected: dict[int, Estimate] = {}


def next_launch(
    launches: Launches, candidates: Sequence[DraftSetting], *, made: int, most: int, spread: float
) -> NextLaunch:
    """What to launch next, given the starts `made` so far of at most `most`.

    First no speculation, then one long chain; then whatever is expected to add most to the throughput that is chosen
    in the end; then each winner anew, unless it was started after it had been chosen. One start is kept for that.
    Where no speculation wins, what might still beat it is tried first.
    """
    left = most - made
    if left < 1:
        return NextLaunch(setting=None, why=f"all {most} starts are made")
    if any(all(m.figures.setting != OFF for m in rows) for rows in launches.values()):
        return NextLaunch(setting=OFF, why="how fast is it without speculation, in this state of the system?")
    long_chain = _long_chain(launches, candidates)
    if long_chain is not None:
        why = "one long chain tells the acceptance of every shorter one"
        return _with_expectation(NextLaunch(setting=long_chain, why=why), launches, candidates, spread)
    beliefs = {b: belief_of(rows, candidates, concurrency=b, spread=spread) for b, rows in launches.items()}
    held = {b: belief for b, belief in beliefs.items() if isinstance(belief, Forecast)}
    if not held:
        reasons = "; ".join(r.reason for r in beliefs.values() if isinstance(r, Refusal))
        return NextLaunch(setting=None, why=f"no prediction can be made: {reasons}")
    winners = {b: chosen(belief, candidates) for b, belief in held.items()}
    unconfirmed = {
        b: winner
        for b, winner in winners.items()
        if winner.on and not confirmed(launches[b], winner, candidates, concurrency=b, spread=spread)
    }
    if left > len(set(unconfirmed.values())):
        probe = _probe(launches, held, candidates)
        if probe is not None:
            return _with_expectation(probe, launches, candidates, spread)
    if unconfirmed:
        concurrency, winner = next(iter(unconfirmed.items()))
        why = f"is it as fast as predicted at concurrency {concurrency}? It is the best by what is known"
        return _with_expectation(NextLaunch(setting=winner, why=why), launches, candidates, spread)
    rival = _rival(launches, held, winners, candidates)
    if rival is not None:
        why = f"{rival.label} might still beat no speculation: it is tried before that is called the best"
        return _with_expectation(NextLaunch(setting=rival, why=why), launches, candidates, spread)
    return NextLaunch(setting=None, why="no further start is expected to find a faster setting")


def _long_chain(launches: Launches, candidates: Sequence[DraftSetting]) -> DraftSetting | None:
    seen = {m.figures.setting for rows in launches.values() for m in rows}
    if any(s.is_chain and s.draft_steps >= _LONG_ENOUGH for s in seen):
        return None
    chains = [s for s in candidates if s.is_chain and s.draft_steps <= LONGEST_USUAL and s not in seen]
    longest = max(chains, key=lambda s: s.draft_steps, default=None)
    known = max((s.draft_steps for s in seen if s.is_chain), default=0)
    return longest if longest is not None and longest.draft_steps > known else None


def _probe(launches: Launches, held: Mapping[int, Forecast], candidates: Sequence[DraftSetting]) -> NextLaunch | None:
    """The candidate that adds most over all concurrencies, if that is worth a start."""
    started = {m.figures.setting for rows in launches.values() for m in rows if not m.as_found}
    fresh = [s for s in candidates if s not in started]
    if not fresh:
        return None
    gains: dict[DraftSetting, list[float]] = {s: [] for s in fresh}
    for belief in held.values():
        for worth in worth_of_launches(belief, fresh):
            gains[worth.setting].append(worth.gain)
    best = max(fresh, key=lambda s: (math.fsum(gains[s]), [-part for part in s.size]))
    gain = max(gains[best])
    if gain <= WORTH_A_LAUNCH:
        return None
    return NextLaunch(setting=best, why=f"expected to add {gain:.1%} to the throughput that is chosen in the end")


def _rival(
    launches: Launches,
    held: Mapping[int, Forecast],
    winners: Mapping[int, DraftSetting],
    candidates: Sequence[DraftSetting],
) -> DraftSetting | None:
    """Where no speculation is winning: a setting that was never started and that may yet beat it."""
    for concurrency, belief in held.items():
        started = {m.figures.setting for m in launches[concurrency]}
        fresh = [s for s in candidates if s not in started]
        rival = likeliest_rival(belief, fresh) if winners[concurrency] == OFF else None
        if rival is not None:
            return rival
    return None


def _with_expectation(
    step: NextLaunch, launches: Launches, candidates: Sequence[DraftSetting], spread: float
) -> NextLaunch:
    expected: dict[int, Estimate] = {}
    for concurrency, rows in launches.items():
        belief = belief_of(rows, candidates, concurrency=concurrency, spread=spread)
        if isinstance(belief, Forecast) and step.setting in belief.settings:
            expected[concurrency] = belief.of(step.setting).throughput
    return step.model_copy(update={"expected": expected})


def belief_of(
    rows: Sequence[MeasuredLaunch], candidates: Sequence[DraftSetting], *, concurrency: int, spread: float
) -> Forecast | Refusal:
    """The forecast over the candidates from these launches."""
    return _belief(tuple(m.figures for m in rows), tuple(candidates), concurrency, spread)


@lru_cache(maxsize=128)
def _belief(
    figures: tuple[LaunchFigures, ...], candidates: tuple[DraftSetting, ...], concurrency: int, spread: float
) -> Forecast | Refusal:
    return forecast(figures, candidates, concurrency=concurrency, spread=spread)


def confirmed(
    rows: Sequence[MeasuredLaunch],
    winner: DraftSetting,
    candidates: Sequence[DraftSetting],
    *,
    concurrency: int,
    spread: float,
) -> bool:
    """Whether the winner was started and measured after it had been chosen by what was known before.

    A setting that was chosen because its own measurement came out high needs a fresh one.
    """
    for place, row in enumerate(rows):
        before = rows[:place]
        if row.as_found or row.figures.setting != winner or all(m.figures.setting != OFF for m in before):
            continue
        belief = belief_of(before, candidates, concurrency=concurrency, spread=spread)
        if isinstance(belief, Forecast) and chosen(belief, candidates) == winner:
            return True
    return False
