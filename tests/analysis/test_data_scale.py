"""More data: the worked example of the field, and that nothing is chosen where nothing can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.analysis.data_scale import Drafter, budget, scale
from specdoctor.analysis.figure import FigureError

SEED = Drafter(samples=37_000, accept_length=2.0, steps=2)


def test_both_readings_of_thirteen_times_the_data() -> None:
    found = scale(SEED, 500_000)
    within, line = found.readings
    assert found.doublings == pytest.approx(3.76, abs=0.01)
    assert (within.low, within.middle, within.high) == pytest.approx((2.075, 2.19, 2.38), abs=0.01)
    assert (line.low, line.high) == pytest.approx((2.86, 3.07), abs=0.01)
    assert found.choice.startswith("neither is chosen: 3.8 doublings")
    assert "below 300,000 samples" in found.choice
    assert "at most 4" in line.caveats[1]
    assert "2 with at most 3" in line.caveats[1]
    assert "a quarter" in found.advice


def test_one_doubling_far_up_is_read_in_one_way() -> None:
    found = scale(Drafter(samples=600_000, accept_length=2.8, steps=3), 1_200_000)
    assert [reading.by for reading in found.readings] == ["doublings within a recipe"]
    assert found.choice == ""
    assert found.readings[0].middle == pytest.approx(2.85)


def test_what_no_number_of_steps_can_give_is_cut() -> None:
    found = scale(Drafter(samples=400_000, accept_length=1.95, steps=1), 1_600_000)
    assert found.readings[0].high == 2.0


def test_a_budget_is_a_range_with_its_hours() -> None:
    found = budget(SEED, 2.4, tokens_per_sample=1000.0, generation_tok_s=5000.0)
    fewest, most = found.samples
    assert fewest is not None
    assert most is not None
    assert 37_000 < fewest < 150_000
    assert most == pytest.approx(37_000 * 2**20)
    assert found.hours[0] == pytest.approx((fewest - 37_000) * 1000 / 5000 / 3600)
    assert found.capped == ""
    assert "at most 3" in budget(SEED, 3.4, tokens_per_sample=1000.0, generation_tok_s=5000.0).capped


@pytest.mark.parametrize("bad", [{"samples": 0.0}, {"accept_length": 0.9}, {"accept_length": 3.1}, {"steps": 0}])
def test_impossible_figures_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(FigureError):
        scale(SEED.model_copy(update=bad), 500_000)


@given(st.floats(1e3, 1e7), st.floats(1.0, 4.0), st.floats(1e3, 1e8))
def test_more_data_never_promises_less(samples: float, length: float, wanted: float) -> None:
    own = Drafter(samples=samples, accept_length=length, steps=3)
    reading = scale(own, max(wanted, samples)).readings[0]
    assert reading.low >= length - 1e-9
    assert reading.low <= reading.middle <= reading.high <= 4.0
