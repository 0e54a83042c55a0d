"""Training accuracy against served acceptance: unlike figures made alike, and the gap where it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.offline_online import Served, held, offline_online, quantities, served_rates

TRAINED = (0.747, 0.67)
SERVED = (Served(steps=1, accept_length=1.6), Served(steps=15, accept_length=1.9))


def test_what_training_promises() -> None:
    one, fifteen = quantities(held(TRAINED, 1)), quantities(held(TRAINED, 15))
    assert one.accept_length == pytest.approx(1.747)
    assert fifteen.accept_length == pytest.approx(3.26, abs=0.005)
    assert fifteen.per_verified_token == pytest.approx(0.20, abs=0.005)
    assert fifteen.per_draft == pytest.approx(0.15, abs=0.005)


def test_what_was_served_and_the_gap_like_for_like() -> None:
    found = offline_online(TRAINED, SERVED)
    assert found.served.per_verified_token == pytest.approx(0.119, abs=0.001)
    assert found.served.per_draft == pytest.approx(0.06, abs=0.001)
    first, second = found.positions[:2]
    assert (first.trained, first.served) == pytest.approx((0.747, 0.60), abs=0.001)
    assert (second.trained, second.served) == pytest.approx((0.67, 0.333), abs=0.002)
    assert found.departs_at == 1
    assert found.first_gap is not None
    assert found.later_gap is not None
    assert found.first_gap + found.later_gap == pytest.approx(3.26 - 1.9, abs=0.01)
    assert found.first_gap == pytest.approx(0.445, abs=0.01)
    assert [suspect.cause for suspect in found.suspects] == ["WIRE-1", "TRAIN-1", "TRAIN-3"]
    assert all(suspect.test for suspect in found.suspects)


def test_a_gap_that_begins_later_points_at_the_recursion() -> None:
    runs = (Served(steps=1, accept_length=1.74), Served(steps=4, accept_length=2.0))
    found = offline_online(TRAINED, runs)
    assert found.departs_at == 2
    assert found.suspects[0].cause == "TRAIN-3"


def test_no_gap_no_suspect() -> None:
    found = offline_online(TRAINED, [Served(steps=1, accept_length=1.74)])
    assert (found.departs_at, found.suspects) == (None, ())


def test_a_gap_that_is_the_same_everywhere_may_be_the_token_map() -> None:
    runs = (Served(steps=1, accept_length=1.6), Served(steps=6, accept_length=2.2))
    assert "WIRE-3" in [suspect.cause for suspect in offline_online(TRAINED, runs).suspects]


@pytest.mark.parametrize("runs", [[], [Served(steps=0, accept_length=1.0)], [Served(steps=1, accept_length=2.5)]])
def test_impossible_runs_are_refused(runs: list[Served]) -> None:
    with pytest.raises(FigureError):
        offline_online(TRAINED, runs)


@pytest.mark.parametrize("trained", [(), (1.2,), (74.7,)])
def test_impossible_accuracies_are_refused(trained: tuple[float, ...]) -> None:
    with pytest.raises(FigureError):
        offline_online(trained, SERVED)


@given(st.lists(st.floats(0.05, 0.95), min_size=1, max_size=4), st.integers(1, 6))
def test_a_drafter_served_as_trained_shows_no_gap(trained: list[float], more: int) -> None:
    steps = len(trained) + more
    runs = [Served(steps=k, accept_length=held(trained, k).accept_length) for k in range(1, steps + 1)]
    assert served_rates(runs) == pytest.approx(held(trained, steps).conditional, abs=1e-6)
    assert offline_online(trained, runs).departs_at is None
