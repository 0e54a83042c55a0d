"""How many blocks an effect needs, and what a number of blocks can show."""

from __future__ import annotations

import pytest

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.power import Design, needed, power_of, power_statement, visible_effect


@pytest.mark.parametrize(
    ("cv", "unpaired", "pairs"),
    [(0.01, (17, 6, 3), (6, 4, 3)), (0.015, (37, 10, 3), (10, 5, 3)), (0.03, (143, 37, 7), (31, 10, 4))],
)
def test_the_number_for_effects_of_1_2_and_5_percent(
    cv: float, unpaired: tuple[int, ...], pairs: tuple[int, ...]
) -> None:
    effects = (0.01, 0.02, 0.05)
    assert tuple(needed(Design(cv=cv), effect) for effect in effects) == unpaired
    assert tuple(needed(Design(cv=cv, pairs=True, correlation=0.8), effect) for effect in effects) == pairs


def test_number_and_visible_effect_are_inverse() -> None:
    design = Design(cv=0.02)
    for n in (4, 9, 30):
        seen = visible_effect(design, n)
        assert power_of(design, seen, n) == pytest.approx(0.80, abs=1e-6)
        assert needed(design, seen * 1.0001) == n


def test_a_strong_effect_is_found_always() -> None:
    assert power_of(Design(cv=0.01), 0.3, 6) == pytest.approx(1.0)
    assert power_of(Design(cv=0.001, pairs=True), -0.3, 11) == pytest.approx(1.0)


def test_no_effect_is_found_as_often_as_the_level_allows() -> None:
    assert power_of(Design(cv=0.02), 0.0, 10) == pytest.approx(0.05, abs=1e-9)


def test_the_statement_names_both_sides() -> None:
    said = power_statement(Design(cv=0.015), 3, unit="blocks", claim=0.01).text()
    assert said.startswith("3 blocks per arm at 1.5% spread show an effect of 4.")
    assert said.endswith("1.0% needs 37 per arm")


def test_figures_that_cannot_be() -> None:
    with pytest.raises(FigureError):
        needed(Design(cv=0.01), 0.0)
    with pytest.raises(FigureError):
        power_of(Design(cv=0.01), 0.02, 1)
    with pytest.raises(FigureError):
        visible_effect(Design(cv=0.0), 5)
