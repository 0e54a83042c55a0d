"""Looking after each block: few false verdicts, most effects found, and fewer blocks than a fixed plan."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.power import Design, needed
from specdoctor.analysis.sequential import Look, SequentialPlan, holm

PAIRS = 400
CV = 0.015


def carried_out(plan: SequentialPlan, effect: float, source: random.Random) -> Look:
    """Blocks of both arms until the plan stops."""
    first: list[float] = []
    second: list[float] = []
    while True:
        first.append(80.0 * math.exp(source.gauss(0.0, CV)))
        second.append(80.0 * (1.0 + effect) * math.exp(source.gauss(0.0, CV)))
        found = plan.look(first, second)
        if found is not None and found.verdict != "go on":
            return found


@pytest.fixture(scope="module")
def simulated() -> dict[float, list[Look]]:
    source = random.Random(11)
    plan = SequentialPlan()
    return {effect: [carried_out(plan, effect, source) for _ in range(PAIRS)] for effect in (0.0, 0.03)}


def test_equal_arms_are_seldom_told_apart(simulated: dict[float, list[Look]]) -> None:
    assert sum(look.verdict in ("better", "worse") for look in simulated[0.0]) <= 28


def test_an_effect_of_3_percent_is_found_with_fewer_blocks(simulated: dict[float, list[Look]]) -> None:
    looks = simulated[0.03]
    assert sum(look.verdict == "better" for look in looks) >= 307
    assert sum(look.verdict == "worse" for look in looks) == 0
    assert statistics.fmean(look.blocks for look in looks) < needed(Design(cv=CV), 0.03)


def test_the_interval_holds_over_all_looks(simulated: dict[float, list[Look]]) -> None:
    for effect, looks in simulated.items():
        covered = sum(look.ratio.low <= 1.0 + effect <= look.ratio.high for look in looks)
        assert covered >= 0.93 * PAIRS


@pytest.mark.parametrize("pairs", [False, True], ids=["Welch", "paired"])
@pytest.mark.parametrize("most", [4, 8, 12])
def test_the_level_of_a_look_is_that_of_equal_arms(most: int, pairs: bool) -> None:
    from scipy.stats import t as student  # late: each process of a test run would load it only to list the tests

    source = np.random.default_rng(3)
    count = 20_000
    a, b = source.normal(size=(2, count, most))
    least = np.ones(count)
    for n in range(3, most + 1):
        x, y = a[:, :n], b[:, :n]
        if pairs:
            gap = y - x
            value, df = gap.mean(axis=1) / (gap.std(axis=1, ddof=1) / math.sqrt(n)), float(n - 1)
        else:
            u, v = x.var(axis=1, ddof=1) / n, y.var(axis=1, ddof=1) / n
            value = (y.mean(axis=1) - x.mean(axis=1)) / np.sqrt(u + v)
            df = (u + v) ** 2 / (u**2 / (n - 1) + v**2 / (n - 1))
        least = np.minimum(least, 2.0 * student.sf(np.abs(value), df))
    wrong = float((least < SequentialPlan(most=most, pairs=pairs).level).mean())
    assert 0.042 < wrong < 0.055


def test_verdicts_at_hand() -> None:
    plan = SequentialPlan(most=4, margin=0.03)
    assert plan.look([80.0, 80.1], [90.0, 90.2]) is None
    verdicts = {
        "better": [90.0, 90.2, 89.9],
        "worse": [70.0, 70.1, 70.2],
        "no difference": [80.0, 80.1, 80.2],
        "go on": [80.0, 88.0, 76.0],
    }
    for verdict, arm in verdicts.items():
        found = plan.look([80.0, 80.1, 79.9], arm)
        assert found is not None
        assert found.verdict == verdict
    last = plan.look([80.0, 80.1, 79.9, 80.0], [80.0, 88.0, 76.0, 81.0])
    assert last is not None
    assert last.verdict == "inconclusive"
    power = last.power(0.02)
    assert power is not None
    assert "2.0% needs" in power.text()


def test_a_small_real_difference_within_the_margin_has_a_side() -> None:
    found = SequentialPlan(margin=0.05).look([80.0, 80.01, 79.99], [81.0, 81.01, 80.99])
    assert found is not None
    assert found.verdict == "better"


def test_blocks_without_spread_have_no_power_statement() -> None:
    found = SequentialPlan().look([80.0] * 3, [80.0] * 3)
    assert found is not None
    assert (found.verdict, found.power()) == ("no difference", None)


def test_plans_and_figures_that_cannot_be() -> None:
    for most in (2, 13):
        with pytest.raises(FigureError):
            SequentialPlan(most=most).look([80.0] * 3, [81.0] * 3)
    with pytest.raises(FigureError):
        SequentialPlan().look([80.0, 0.0, 81.0], [80.0, 81.0, 82.0])
    with pytest.raises(FigureError):
        SequentialPlan(pairs=True).look([80.0, 81.0, 82.0], [80.0, 81.0, 82.0, 83.0])


def test_several_comparisons_count_together() -> None:
    assert holm([0.01, 0.04, 0.03]) == (True, False, False)
    assert holm([0.01, 0.02, 0.03]) == (True, True, True)
    assert holm([]) == ()
