"""Accept lengths by condition: told apart where they differ beyond noise, and nowhere else."""

from __future__ import annotations

import random

import pytest

from specdoctor.analysis.pooling import RequestCounts
from specdoctor.analysis.surface import Cell, later_part, surface


def requests(rate: float, *, prompts: int = 12, seed: int = 0, forwards: int = 60) -> tuple[RequestCounts, ...]:
    """One draft a cycle, accepted with `rate` give or take what prompts differ by."""
    source = random.Random(seed)
    out = []
    for number in range(prompts):
        own = min(max(rate + source.gauss(0.0, 0.05), 0.0), 1.0)
        accepted = sum(source.random() < own for _ in range(forwards))
        out.append(RequestCounts(forwards=forwards, accepted_drafts=accepted, prompt=f"p{number}"))
    return tuple(out)


def says(*cells: Cell) -> list[str]:
    return [row.says for row in surface(cells, steps=1)]


def test_a_difference_beyond_noise_is_told_with_its_sign() -> None:
    cells = [Cell(along="t", value=v, requests=requests(r)) for v, r in (("0", 0.6), ("1", 0.3), ("2", 0.8))]
    assert says(*cells) == ["reference", "lower", "higher"]
    row = surface(cells, steps=1)[1]
    assert row.difference is not None
    assert row.difference.value == pytest.approx(-0.3, abs=0.06)
    assert row.difference.low < -0.3 < row.difference.high
    assert "one of 2 comparisons" in row.difference.estimator


@pytest.mark.slow
def test_equal_conditions_are_hardly_ever_told_apart() -> None:
    """Three comparisons in each of 100 tables without any difference: in about five of them one is claimed."""
    wrong = 0
    for table in range(100):
        cells = [Cell(along="t", value=str(n), requests=requests(0.6, seed=100_003 * table + n)) for n in range(4)]
        wrong += any(one in ("higher", "lower") for one in says(*cells))
    assert wrong <= 10


def test_what_varies_has_its_own_reference() -> None:
    free, bound = requests(0.5), requests(0.8)
    cells = [Cell(along="a", value="1", requests=bound), Cell(along="b", value="1", requests=free)]
    assert says(*cells, Cell(along="b", value="2", requests=bound)) == ["reference", "reference", "higher"]


def test_few_prompts_and_no_counts_say_nothing() -> None:
    few = Cell(along="t", value="1", requests=requests(0.1, prompts=3))
    assert says(Cell(along="t", value="0", requests=requests(0.9)), few) == ["reference", "too few prompts"]
    assert says(Cell(along="t", value="0", requests=())) == ["no counts by request"]


def test_the_rest_of_an_answer_is_the_whole_less_its_beginning() -> None:
    whole = (
        RequestCounts(forwards=50, accepted_drafts=40, prompt="a"),
        RequestCounts(forwards=20, accepted_drafts=9, prompt="ends early"),
        RequestCounts(forwards=50, accepted_drafts=40, prompt="sent once"),
    )
    begun = (
        RequestCounts(forwards=20, accepted_drafts=10, prompt="a"),
        RequestCounts(forwards=20, accepted_drafts=9, prompt="ends early"),
    )
    assert later_part(whole, begun) == (RequestCounts(forwards=30, accepted_drafts=30, prompt="a"),)
