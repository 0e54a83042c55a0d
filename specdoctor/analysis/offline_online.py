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
NOISE_TOKENS = 0.05
"""So much may one accept length be below another of fewer steps, on the same prompts."""


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
    ordered = _averaged(runs)
    if not ordered or ordered[0].steps == 0:
        raise FigureError("no served accept length with draft steps was given", next_step="give STEPS:ACCEPT_LENGTH")
    rates: list[float] = []
    for run in ordered:
        accept_length(run.accept_length, steps=draft_steps(run.steps))
        rates += [_rate_behind(rates, run)] * (run.steps - len(rates))
    return tuple(rates)


def _averaged(runs: Sequence[Served]) -> list[Served]:
    """By steps, the fewest first; several of equal steps are one, their mean."""
    lengths: dict[int, list[float]] = {}
    for run in runs:
        lengths.setdefault(run.steps, []).append(accept_length(run.accept_length, steps=draft_steps(run.steps)))
    return [Served(steps=k, accept_length=sum(found) / len(found)) for k, found in sorted(lengths.items())]


def contradictions(runs: Sequence[Served]) -> tuple[str, ...]:
    """What cannot be true of one drafter on the same prompts: an accept length that falls with the steps, or two."""
    ordered = sorted(runs, key=lambda run: (run.steps, -run.accept_length))
    out = []
    for i, longer in enumerate(ordered):
        most = max(ordered[:i], key=lambda run: run.accept_length, default=None)
        if most is None or most.accept_length - longer.accept_length <= NOISE_TOKENS:
            continue
        pair = f"{most.accept_length:g} at {_steps(most.steps)} and {longer.accept_length:g} at {_steps(longer.steps)}"
        out.append(
            f"{pair} contradict each other: on the same prompts the accept length does not fall with the steps; other "
            "prompts, another load or a fault beyond the first drafts: measure both again on the same prompts"
        )
    return tuple(out)


def _steps(count: int) -> str:
    return f"{count} step" if count == 1 else f"{count} steps"


def _assumed(runs: Sequence[Served]) -> str:
    """At which positions equal rates are assumed, empty where each position has a figure of its own."""
    before, places = 0, []
    for run in _averaged(runs):
        if run.steps - before > 1:
            places.append(f"{before + 1} to {run.steps}")
        before = run.steps
    return f"equal rates are assumed at positions {', '.join(places)}: no figure tells them apart" if places else ""


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

    `first_gap` is the accept length lost because the first draft is accepted less, `later_gap` the rest, both None
    (`departs_at` too) where no figure tells the first draft from the later ones. `assumed`: at which positions equal
    rates are, `contradictions` which served figures cannot both be true, `trained_one_step` is the accept length that
    training promises at one step.
    """

    trained: SameQuantity
    trained_one_step: float
    served: SameQuantity
    positions: tuple[Position, ...]
    departs_at: int | None
    total_gap: float
    first_gap: float | None
    later_gap: float | None
    suspects: tuple[Suspect, ...]
    assumed: str = ""
    contradictions: tuple[str, ...] = ()


def offline_online(trained: Sequence[float], runs: Sequence[Served]) -> OfflineOnline:
    """Compare training accuracy by step with served accept lengths on the same prompts.

    Raises FigureError for impossible figures.
    """
    return compared(trained, served_rates(runs), runs=runs)


def compared(trained: Sequence[float], rates: Sequence[float], *, runs: Sequence[Served] = ()) -> OfflineOnline:
    """The same with the served conditional acceptance by position as given, or as `runs` gave it.

    Raises FigureError as above.
    """
    for position, rate in enumerate(trained, start=1):
        fraction(f"training accuracy of step {position}", rate)
    served = chain_from_conditional(rates)
    wanted = held(trained, served.steps)
    pairs = zip(wanted.conditional, served.conditional, strict=True)
    positions = tuple(Position(position=i, trained=a, served=b) for i, (a, b) in enumerate(pairs, start=1))
    departs = next((p.position for p in positions if p.gap > MATERIAL), None)
    mixed = chain_from_conditional([served.conditional[0], *wanted.conditional[1:]])
    split = not runs or min(run.steps for run in runs) == 1
    return OfflineOnline(
        trained=quantities(wanted),
        trained_one_step=1.0 + wanted.conditional[0],
        served=quantities(served),
        positions=positions,
        departs_at=departs if split else None,
        total_gap=wanted.accept_length - served.accept_length,
        first_gap=wanted.accept_length - mixed.accept_length if split else None,
        later_gap=mixed.accept_length - served.accept_length if split else None,
        suspects=_suspects(departs, positions) if split else _unsplit(departs),
        assumed=_assumed(runs),
        contradictions=contradictions(runs),
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


def _recursion(why: str) -> Suspect:
    test = "run the drafter alone on stored states (specdoctor drafter eval): forced by the text, and on its own drafts"
    return Suspect(cause="TRAIN-3", why=why, test=test)


_MAPS = Suspect(
    cause="WIRE-3",
    why="a token map that is wrong in part lowers every position alike",
    test="look into d2t and t2d (specdoctor wiring)",
)


def _suspects(departs: int | None, positions: Sequence[Position]) -> tuple[Suspect, ...]:
    """Which causes depart there, the cheapest test first; none where nothing departs."""
    if departs is None:
        return ()
    first, later = positions[0], [p.gap for p in positions[1:]]
    if departs > 1:
        why = "the first draft is as in training and those that feed on the drafter's own output are not"
        return (_recursion(why), _PROMPTS)
    mean = sum(later) / len(later) if later else 0.0
    if later and abs(mean - first.gap) <= MATERIAL:
        return (_WIRING, _MAPS, _PROMPTS)
    if mean < first.gap:
        return (_WIRING, _PROMPTS)
    why = (
        f"drafts that feed on the drafter's own output lose more ({mean:.3f}) than the first; that the first falls too "
        f"({first.trained:.3f} -> {first.served:.3f}) it does not explain"
    )
    return (_WIRING, _PROMPTS, _recursion(why))


def _unsplit(departs: int | None) -> tuple[Suspect, ...]:
    """All that lower an accept length, where no figure tells the first draft from the later ones."""
    if departs is None:
        return ()
    why = (
        "drafts that feed on the drafter's own output may be accepted less than in training; whether the first is "
        "as in training is not known"
    )
    return (_WIRING, _PROMPTS, _recursion(why))
