"""Two launches of one server in turns: whose turn it is, and where their comparison stands. The unit is a start."""

from __future__ import annotations

from specdoctor.analysis.attribution import Arm, attribute
from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.launch_spread import launch_spread
from specdoctor.analysis.power import MOST, Design, needed
from specdoctor.analysis.sequential import Look, SequentialPlan
from specdoctor.analysis.stats import LEAST_BLOCKS
from specdoctor.core.estimate import Estimate
from specdoctor.core.launch import LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Frozen

MOST_STARTS = 12
"""Starts of each that can be asked for."""


class TurnsOutcome(Frozen):
    """Speeds of the starts of both sides, and the ratio second over first.

    With three starts of each it is a paired test over starts; with fewer one start stands for each side, and the spread
    between starts (`spread`) is in the interval. `starts_needed` of each would tell a difference as large as the one
    seen; None where it is clear, and where nothing was compared.
    """

    first: tuple[Measurement, ...]
    second: tuple[Measurement, ...]
    verdict: str
    ratio: Estimate | None
    power: str
    spread: str = ""
    starts_needed: int | None = None

    @property
    def next_step(self) -> str:
        """What to do where it is not clear; empty where it is."""
        if self.verdict != "inconclusive":
            return ""
        if self.starts_needed is None:
            return "measure more starts of each: --starts 3"
        if self.starts_needed > MOST_STARTS:
            return (
                f"a difference as large as the one seen takes {self.starts_needed} starts of each, and at most "
                f"{MOST_STARTS} are made: take the two as equally fast, or make a start steadier"
            )
        return f"--starts {self.starts_needed}: so many starts of each tell a difference as large as the one seen"


def turn_measurements(ledger: Ledger, second: LaunchChange) -> tuple[list[Measurement], list[Measurement]]:
    """What was measured of each side, in the order of the starts; a pair counts once both were measured."""
    turns = ledger.settings.turns
    found: dict[str, list[Measurement]] = {"first": [], "second": []}
    for arm, change in turns.order(second) if turns is not None else ():
        measured = ledger.measured(change.key, concurrency=ledger.settings.concurrency)
        if measured is not None and measured.throughput is not None:
            found[arm].append(measured)
    return found["first"], found["second"]


def pending(ledger: Ledger, second: LaunchChange) -> LaunchChange | None:
    """The next start; None once all were made."""
    turns = ledger.settings.turns
    order = turns.order(second) if turns is not None else ()
    return next((c for _, c in order if not c.is_original and not ledger.settled(c)), None)


def turns_look(ledger: Ledger, second: LaunchChange) -> Look | None:
    """The sequential look over pairs of starts; None before the third pair, or where fewer are planned."""
    turns = ledger.settings.turns
    if turns is None or turns.starts < LEAST_BLOCKS:
        return None
    first, other = turn_measurements(ledger, second)
    pairs = min(len(first), len(other))
    values = ([m.throughput.value for m in arm[:pairs] if m.throughput is not None] for arm in (first, other))
    return SequentialPlan(most=turns.starts, pairs=True).look(*values)


def turns_outcome(ledger: Ledger, second: LaunchChange) -> TurnsOutcome:
    """Where the comparison ended."""
    first, other = turn_measurements(ledger, second)
    look = turns_look(ledger, second)
    if look is not None:
        power = look.power()
        verdict = "inconclusive" if look.verdict == "go on" else look.verdict
        told = "" if power is None else power.text().replace("blocks", "starts")
        spread_of_starts = Design(cv=look.spread, pairs=True, correlation=0.5) if look.spread > 0.0 else None
        return TurnsOutcome(
            first=tuple(first),
            second=tuple(other),
            verdict=verdict,
            ratio=look.ratio,
            power=told,
            starts_needed=_needed(verdict, look.ratio, spread_of_starts, len(first)),
        )
    spread = launch_spread(ledger)
    ratio = _one_of_each(first, other, spread.reckoned)
    verdict = "inconclusive"
    if ratio is not None and not ratio.low <= 1.0 <= ratio.high:
        verdict = "better" if ratio.low > 1.0 else "worse"
    why = "fewer than three starts of each: the spread between starts is in the interval"
    return TurnsOutcome(
        first=tuple(first),
        second=tuple(other),
        verdict=verdict,
        ratio=ratio,
        power=why,
        spread=spread.words,
        starts_needed=_needed(verdict, ratio, Design(cv=spread.reckoned), len(first)),
    )


def _needed(verdict: str, ratio: Estimate | None, design: Design | None, made: int) -> int | None:
    """Starts of each, more than were made, that tell a difference as large as the one seen."""
    if verdict != "inconclusive" or ratio is None or design is None:
        return None
    try:
        return max(needed(design, ratio.value - 1.0), made + 1)
    except FigureError:
        return MOST


def _one_of_each(first: list[Measurement], second: list[Measurement], launch_sd: float) -> Estimate | None:
    if not first or not second:
        return None
    arms = [
        Arm(label=m.launch, throughput=m.throughput, accept_length=None, step=None, fingerprint=m.fingerprint)
        for m in (first[-1], second[-1])
    ]
    try:
        parts = attribute(*arms, launch_sd=launch_sd).parts
    except FigureError:
        return None
    return next((p.ratio for p in parts if p.name == "throughput"), None)
