"""Training accuracy against served acceptance: first the same quantity, then where they part, then why.

A trainer reports, for each step, how often the drafter's first choice was right given the true text before it: a
conditional acceptance. An engine reports an accept length, a marginal rate by position, or a share of all drafts, with
or without the bonus token. Here all of them become conditional acceptance by position, a_1, a_2, ...
"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.analysis.acceptance import Chain, chain_from_conditional, equal_rate
from specdoctor.analysis.figure import FigureError, accept_length, draft_steps, fraction
from specdoctor.core.model import Frozen

MATERIAL = 0.05
"""A difference in conditional acceptance below this is within what prompts and rounding do."""


class SameQuantity(Frozen):
    """One chain in every convention in which it may have been reported."""

    steps: int
    conditional: tuple[float, ...]
    accept_length: float
    per_verified_token: float
    """Accept length / (steps + 1): the bonus token counts on both sides."""
    per_draft: float
    """Accepted drafts / drafts: (accept length - 1) / steps."""


def held(rates: Sequence[float], steps: int) -> Chain:
    """A chain of `steps` drafts from conditional rates, the last one held for all later positions.

    Raises FigureError for an empty list or a rate outside 0..1.
    """
    if not rates:
        raise FigureError("no training accuracy was given", next_step="give it by step: 0.747,0.67")
    return chain_from_conditional([*rates, *[rates[-1]] * steps][: draft_steps(steps)])


def quantities(chain: Chain) -> SameQuantity:
    """All names of one chain's figure. Raises FigureError for a chain without drafts."""
    if chain.steps == 0:
        raise FigureError("a chain without drafts has no acceptance", next_step="give the draft steps")
    length = chain.accept_length
    return SameQuantity(
        steps=chain.steps,
        conditional=chain.conditional,
        accept_length=length,
        per_verified_token=length / (chain.steps + 1),
        per_draft=(length - 1.0) / chain.steps,
    )


class Served(Frozen):
    """An accept length (bonus token included) measured at so many draft steps."""

    steps: int
    accept_length: float


def served_rates(runs: Sequence[Served]) -> tuple[float, ...]:
    """Conditional acceptance from runs at several numbers of steps: one for each run, held from there to the next.

    The run with the fewest steps gives the rate up to its steps; each longer one the equal rate behind the shorter that
    accounts for its accept length. Long chains restart in hard stretches, so later rates are lower bounds.
    Raises FigureError for impossible figures.
    """
    ordered = sorted(runs, key=lambda run: run.steps)
    if not ordered or ordered[0].steps == 0:
        raise FigureError("no served accept length with draft steps was given", next_step="give STEPS:ACCEPT_LENGTH")
    rates: list[float] = []
    for run in ordered:
        accept_length(run.accept_length, steps=draft_steps(run.steps))
        rates += [_rate_behind(rates, run)] * (run.steps - len(rates))
    return tuple(rates)


def _rate_behind(known: Sequence[float], run: Served) -> float:
    """The equal conditional rate of positions after the known ones; all of them when none is known."""
    if not known:
        return equal_rate(run.accept_length, run.steps) or 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        chain = chain_from_conditional([*known, *[middle] * (run.steps - len(known))])
        low, high = (middle, high) if chain.accept_length < run.accept_length else (low, middle)
    return (low + high) / 2.0


class Position(Frozen):
    """One draft position: conditional acceptance in training and in service, and their difference."""

    position: int
    trained: float
    served: float

    @property
    def gap(self) -> float:
        return self.trained - self.served


class Suspect(Frozen):
    """A cause that would look like this, and the test that tells it from the others. Ranked, never decided here."""

    cause: str
    why: str
    test: str


class OfflineOnline(Frozen):
    """The like-for-like comparison at one number of steps.

    `first_gap` is the accept length lost because the first draft is accepted less, `later_gap` the rest.
    """

    trained: SameQuantity
    served: SameQuantity
    positions: tuple[Position, ...]
    departs_at: int | None
    first_gap: float
    later_gap: float
    suspects: tuple[Suspect, ...]


def offline_online(trained: Sequence[float], runs: Sequence[Served]) -> OfflineOnline:
    """Compare training accuracy by step with served accept lengths on the same prompts.

    Raises FigureError for impossible figures.
    """
    return compared(trained, served_rates(runs))


def compared(trained: Sequence[float], rates: Sequence[float]) -> OfflineOnline:
    """The same with the served conditional acceptance by position as given. Raises FigureError as above."""
    for position, rate in enumerate(trained, start=1):
        fraction(f"training accuracy of step {position}", rate)
    served = chain_from_conditional(rates)
    wanted = held(trained, served.steps)
    pairs = zip(wanted.conditional, served.conditional, strict=True)
    positions = tuple(Position(position=i, trained=a, served=b) for i, (a, b) in enumerate(pairs, start=1))
    departs = next((p.position for p in positions if p.gap > MATERIAL), None)
    mixed = chain_from_conditional([served.conditional[0], *wanted.conditional[1:]])
    return OfflineOnline(
        trained=quantities(wanted),
        served=quantities(served),
        positions=positions,
        departs_at=departs,
        first_gap=wanted.accept_length - mixed.accept_length,
        later_gap=mixed.accept_length - served.accept_length,
        suspects=_suspects(departs, positions),
    )


_WIRING = Suspect(
    cause="WIRE-1",
    why="other states than in training lower the first draft already, and those after it",
    test="compare the training record with what the engine captures (specdoctor wiring)",
)
_PROMPTS = Suspect(
    cause="TRAIN-1",
    why="training accuracy is of training texts; other templates or modes lower every position",
    test="serve the training prompts themselves: if the gap stays, it is not the prompts",
)
_RECURSION = Suspect(
    cause="TRAIN-3",
    why="the first draft is as in training and those that feed on the drafter's own output are not",
    test="run the drafter alone on stored states (specdoctor drafter eval): forced by the text, and on its own drafts",
)
_MAPS = Suspect(
    cause="WIRE-3",
    why="a token map that is wrong in part lowers every position alike",
    test="look into d2t and t2d (specdoctor wiring)",
)


def _suspects(departs: int | None, positions: Sequence[Position]) -> tuple[Suspect, ...]:
    """Which causes depart there, the cheapest test first; none where nothing departs."""
    if departs is None:
        return ()
    if departs > 1:
        return (_RECURSION, _PROMPTS)
    later = [p.gap for p in positions[1:]]
    alike = later and abs(sum(later) / len(later) - positions[0].gap) <= MATERIAL
    return (_WIRING, _MAPS, _PROMPTS) if alike else (_WIRING, _PROMPTS, _RECURSION)
