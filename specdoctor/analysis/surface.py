"""How the accept length varies: one condition beside a reference, and whether they differ beyond noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from specdoctor.analysis.pooling import RequestCounts, pooled_accept_length
from specdoctor.analysis.stats import RESAMPLES
from specdoctor.analysis.student import t_quantile
from specdoctor.core.estimate import Estimate
from specdoctor.core.model import Frozen

LEVEL = 0.95
FEWEST_PROMPTS = 4
"""With fewer prompts on a side nothing is said of a difference (named heuristic)."""
Says = Literal["reference", "higher", "lower", "no difference beyond noise", "too few prompts", "no counts by request"]


class Cell(Frozen):
    """Requests under one condition, as `value` of what varies (`along`). The first cell of each is its reference."""

    along: str
    value: str
    requests: tuple[RequestCounts, ...]


class Row(Frozen):
    """A cell's accept length (bonus token included), and its difference to the reference with an interval that holds
    for all differences of the table together (Bonferroni).
    """

    along: str
    value: str
    requests: int
    accept_length: Estimate | None = None
    difference: Estimate | None = None
    says: Says


def surface(cells: Sequence[Cell], *, steps: int, seed: int = 0) -> tuple[Row, ...]:
    """One row for each cell, in their order."""
    first: dict[str, Cell] = {}
    for cell in cells:
        first.setdefault(cell.along, cell)
    compared = sum(1 for cell in cells if first[cell.along] is not cell)
    return tuple(_row(cell, first[cell.along], steps, max(compared, 1), seed) for cell in cells)


def _row(cell: Cell, reference: Cell, steps: int, compared: int, seed: int) -> Row:
    length = pooled_accept_length(cell.requests, steps=steps, seed=seed)
    row = Row(along=cell.along, value=cell.value, requests=len(cell.requests), accept_length=length, says="reference")
    if length is None:
        return row.model_copy(update={"says": "no counts by request"})
    if cell is reference:
        return row
    found = _difference(cell, reference, compared, seed)
    if found is None:
        return row.model_copy(update={"says": "too few prompts"})
    says: Says = "higher" if found.low > 0 else "lower" if found.high < 0 else "no difference beyond noise"
    return row.model_copy(update={"difference": found, "says": says})


def _difference(cell: Cell, reference: Cell, compared: int, seed: int) -> Estimate | None:
    """Accept length of the cell less that of its reference, by resampling prompts: together where both have them."""
    mine, theirs = _by_prompt(cell.requests), _by_prompt(reference.requests)
    shared = [prompt for prompt in mine if prompt in theirs]
    paired = len(shared) == len(mine) == len(theirs)
    if min(len(mine), len(theirs)) < FEWEST_PROMPTS:
        return None
    ours = [mine[p] for p in (shared if paired else mine)]
    others = [theirs[p] for p in (shared if paired else theirs)]
    spread = _spread(ours, others, paired=paired, seed=seed)
    n = min(len(ours), len(others))
    error = spread * math.sqrt(n / (n - 1))
    half = t_quantile(1.0 - (1.0 - LEVEL) / compared, n - 1.0) * error
    value = _ratio(ours) - _ratio(others)
    how = "the same prompts, resampled together" if paired else "other prompts, resampled apart"
    estimator = f"difference of pooled accept lengths, {how} ({RESAMPLES} resamples); one of {compared} comparisons"
    return Estimate(value=value, low=value - half, high=value + half, unit="tokens/cycle", estimator=estimator, n=n)


def _by_prompt(requests: Sequence[RequestCounts]) -> dict[str, tuple[float, float]]:
    """Accepted drafts and forwards of each prompt; a request without a name is a prompt of its own."""
    sums: dict[str, tuple[float, float]] = {}
    for index, request in enumerate(requests):
        before = sums.get(key := request.prompt or f"#{index}", (0.0, 0.0))
        sums[key] = (before[0] + request.accepted_drafts, before[1] + request.forwards)
    return {key: pair for key, pair in sums.items() if pair[1] > 0}


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(top for top, _ in pairs) / sum(bottom for _, bottom in pairs)


def _spread(
    ours: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]], *, paired: bool, seed: int
) -> float:
    """Standard deviation of the difference over resamples of the prompts."""
    import numpy as np

    source = np.random.default_rng(seed)
    drawn = source.integers(0, len(ours), size=(RESAMPLES, len(ours)))
    again = drawn if paired else source.integers(0, len(others), size=(RESAMPLES, len(others)))
    ratios = []
    for pairs, picks in ((ours, drawn), (others, again)):
        tops, bottoms = np.array(pairs, dtype=float).T
        ratios.append(tops[picks].sum(axis=1) / bottoms[picks].sum(axis=1))
    return float((ratios[0] - ratios[1]).std())


def later_part(whole: Sequence[RequestCounts], begun: Sequence[RequestCounts]) -> tuple[RequestCounts, ...]:
    """What each prompt's answer has beyond its first tokens: counts of the whole answer less those of its beginning.

    A prompt that has no more than its beginning, or was not sent both ways, is left out.
    """
    short, long = _by_prompt(begun), _by_prompt(whole)
    out = []
    for prompt, (accepted, forwards) in long.items():
        before = short.get(prompt)
        if before is not None and forwards > before[1] and accepted >= before[0]:
            counts = {"forwards": int(forwards - before[1]), "accepted_drafts": int(accepted - before[0])}
            out.append(RequestCounts.model_validate({**counts, "prompt": prompt}))
    return tuple(out)
