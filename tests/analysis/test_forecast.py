"""Forecasts of settings that were not run: exact on data of the model's own kind, honest or silent elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specdoctor.analysis import forecast_model as model
from specdoctor.analysis.draft_setting import OFF, DraftSetting, chain, grid, tree
from specdoctor.analysis.forecast import Forecast, forecast
from specdoctor.analysis.interval import Estimate, between, from_error
from specdoctor.analysis.launch_figures import LaunchFigures
from specdoctor.analysis.refusal import Refusal
from specdoctor.analysis.search import chosen, worth_of_launches

STEP_MS = 10.0


def about(value: float, share: float, unit: str) -> Estimate:
    return between(value, value * (1 - share), value * (1 + share), unit, estimator="made up", n=12)  # type: ignore[arg-type]


def launch(setting: DraftSetting, *, cycle_ms: float, rates: tuple[float, ...] = (), gap: float = 0.0) -> LaunchFigures:
    """A launch whose conditional acceptance is `rates`, at concurrency 1."""
    length, before = 1.0, 1.0
    for rate in rates:
        before *= rate
        length += before
    speed = 1000.0 * length / cycle_ms * (1.0 - gap)
    return LaunchFigures(
        setting=setting,
        step=about(cycle_ms, 0.002, "ms"),
        throughput=about(speed, 0.02, "tok/s"),
        accept_length=about(length, 0.02, "tokens/cycle"),
        conditional=tuple(from_error(rate, 0.02, "fraction", estimator="made up", n=12) for rate in rates),
    )


def line_ms(steps: int) -> float:
    return 12.0 + 0.9 * steps


RATES = (0.8, 0.75, 0.7, 0.68, 0.66, 0.65, 0.65, 0.65)
BASELINE = launch(OFF, cycle_ms=STEP_MS)
LONG = launch(chain(8), cycle_ms=line_ms(8), rates=RATES)
QUICK_LONG = launch(chain(8), cycle_ms=12.0, rates=RATES)
SHORT = launch(chain(2), cycle_ms=line_ms(2), rates=RATES[:2])


def belief(*figures: LaunchFigures, spread: float = 0.01) -> Forecast:
    found = forecast(figures, grid(), spread=spread)
    assert isinstance(found, Forecast)
    return found


def test_the_grid_is_chains_and_whole_trees_of_at_most_32_tokens() -> None:
    assert len(grid()) == 36
    assert chain(15) in grid()
    assert tree(2, 2) == DraftSetting(draft_steps=2, topk=2, draft_tokens=7)
    assert tree(4, 8).draft_tokens == 32


def test_a_straight_cycle_and_equal_acceptance_give_back_every_chain() -> None:
    found = belief(BASELINE, LONG, SHORT)
    for steps in (1, 3, 4, 5, 6, 7):
        truth = launch(chain(steps), cycle_ms=line_ms(steps), rates=RATES[:steps]).throughput.value
        told = found.of(chain(steps)).throughput
        assert told.value == pytest.approx(truth, rel=0.015)
        assert told.low < truth < told.high
    assert found.of(OFF).throughput.value == pytest.approx(100.0, rel=0.01)


def test_one_chain_alone_predicts_with_a_wider_interval_than_two() -> None:
    one, two = belief(BASELINE, LONG), belief(BASELINE, LONG, SHORT)
    assert one.of(chain(3)).throughput.width > 1.3 * two.of(chain(3)).throughput.width


def test_the_spread_between_launches_is_in_every_interval() -> None:
    narrow, wide = belief(BASELINE, LONG, SHORT), belief(BASELINE, LONG, SHORT, spread=0.05)
    for setting in (OFF, chain(3), tree(4, 4)):
        told = wide.of(setting).throughput
        assert told.width > narrow.of(setting).throughput.width
        assert told.high / told.low > math.exp(2 * 1.96 * 0.05)


def test_a_second_chain_lifts_what_a_long_one_understates() -> None:
    """S_1 and S_2 of the long run are lower than those of a short run, because long runs restart in hard stretches."""
    understated = launch(chain(8), cycle_ms=line_ms(8), rates=(0.74, 0.72, *RATES[2:]))
    truth = launch(chain(3), cycle_ms=line_ms(3), rates=RATES[:3])
    assert truth.accept_length is not None
    bare = belief(BASELINE, understated).of(chain(3))
    corrected = belief(BASELINE, understated, SHORT).of(chain(3))
    read_out = 1 + 0.74 + 0.74 * 0.72 + 0.74 * 0.72 * 0.7
    assert corrected.accept_length > bare.accept_length > read_out
    assert abs(corrected.accept_length - truth.accept_length.value) < abs(read_out - truth.accept_length.value)
    assert bare.throughput.low < truth.throughput.value < bare.throughput.high


def test_trees_are_told_by_a_tree() -> None:
    before = belief(BASELINE, LONG, SHORT)
    seen = launch(tree(4, 4), cycle_ms=line_ms(4) + 4.0, rates=(0.9, 0.82, 0.78, 0.75))
    after = belief(BASELINE, LONG, SHORT, seen)
    assert after.of(tree(4, 4)).throughput.value == pytest.approx(seen.throughput.value, rel=0.02)
    assert after.of(tree(5, 4)).throughput.width < 0.5 * before.of(tree(5, 4)).throughput.width


@pytest.mark.parametrize(
    ("figures", "kind"),
    [
        ((BASELINE,), "too-few"),
        ((BASELINE, LONG.model_copy(update={"conditional": ()})), "too-few"),
        ((BASELINE, launch(chain(8), cycle_ms=19.2, rates=RATES, gap=0.15)), "identity-gap"),
        ((BASELINE, QUICK_LONG, launch(chain(1), cycle_ms=14.0, rates=(0.8,))), "negative-slope"),
        ((BASELINE, launch(chain(3), cycle_ms=6.0, rates=RATES[:3])), "intercept-below-baseline"),
        ((BASELINE, LONG, launch(chain(8), cycle_ms=29.0, rates=RATES)), "states-differ"),
    ],
)  # fmt: skip
def test_figures_that_contradict_each_other_are_refused(figures: tuple[LaunchFigures, ...], kind: str) -> None:
    found = forecast(figures, grid(), spread=0.01)
    assert isinstance(found, Refusal)
    assert found.kind == kind
    assert found.reason


def test_what_a_wide_spread_explains_is_not_refused() -> None:
    short = launch(chain(1), cycle_ms=14.0, rates=(0.8,))
    assert isinstance(forecast((BASELINE, launch(chain(8), cycle_ms=13.0, rates=RATES), short), grid()), Forecast)


def test_a_launch_is_worth_more_where_less_is_known() -> None:
    found = belief(BASELINE, LONG, SHORT)
    worth = {w.setting: w.gain for w in worth_of_launches(found, grid())}
    assert all(gain >= 0 for gain in worth.values())
    assert max(worth[tree(k, t)] for k in (3, 4, 5) for t in (2, 4, 8)) > worth[chain(8)]
    assert worth == {w.setting: w.gain for w in worth_of_launches(found, grid())}


def test_the_smallest_setting_within_noise_is_chosen_and_off_is_the_smallest() -> None:
    slow = [launch(chain(k), cycle_ms=40.0 + k, rates=RATES[:k]) for k in (2, 8)]
    assert chosen(belief(BASELINE, *slow), [chain(k) for k in range(1, 9)]) == OFF
    flat = belief(BASELINE, LONG, SHORT)
    by_speed = sorted((chain(k) for k in range(1, 9)), key=lambda s: -flat.of(s).throughput.value)
    found = chosen(flat, [chain(k) for k in range(1, 9)], noise=0.03)
    assert flat.of(found).throughput.value >= 0.97 * flat.of(by_speed[0]).throughput.value
    assert found.draft_steps <= by_speed[0].draft_steps


def test_acceptance_of_the_model_falls_along_the_chain_and_never_passes_one() -> None:
    source = np.random.default_rng(3)
    mean, covariance = model.prior(step_ms=STEP_MS, concurrency=1)
    thetas = source.multivariate_normal(mean, covariance, size=200)
    at = model.Settings(grid())
    falling = model.marginals(thetas, at)
    assert ((falling >= 0.0) & (falling <= 1.0)).all()
    assert (np.diff(falling, axis=2) <= 1e-12).all()
    assert (model.accept_lengths(thetas, at) <= at.steps + 1.0).all()


def test_one_setting_with_two_accept_lengths_is_refused() -> None:
    low = launch(chain(8), cycle_ms=line_ms(8), rates=tuple(rate * 0.7 for rate in RATES))
    found = forecast((BASELINE, LONG, low), grid())
    assert isinstance(found, Refusal)
    assert found.kind == "states-differ"
    assert "then measure again" in found.reason


def test_accept_lengths_within_their_noise_are_laid_together() -> None:
    near = launch(chain(8), cycle_ms=line_ms(8), rates=tuple(rate * 0.99 for rate in RATES))
    assert isinstance(forecast((BASELINE, LONG, near), grid()), Forecast)


def knee_ms(setting: DraftSetting) -> float:
    """A cycle of memory reads up to 16 tokens, of computing above."""
    return 20.0 + 0.4 * setting.draft_steps + 0.1 * setting.draft_tokens + 0.4 * max(setting.draft_tokens - 16, 0)


def test_a_forward_wider_than_any_measured_may_have_begun_to_compute() -> None:
    narrow = DraftSetting(draft_steps=3, topk=4, draft_tokens=16)
    rates = (0.9, 0.85, 0.8)
    seen = [
        launch(OFF, cycle_ms=18.0),
        launch(narrow, cycle_ms=knee_ms(narrow), rates=rates),
        launch(chain(8), cycle_ms=knee_ms(chain(8)), rates=RATES),
        launch(chain(2), cycle_ms=knee_ms(chain(2)), rates=RATES[:2]),
    ]
    found, wide = belief(*seen), DraftSetting(draft_steps=3, topk=4, draft_tokens=32)
    told = forecast(seen, [wide], spread=0.01)
    assert isinstance(told, Forecast)
    speed = told.of(wide).throughput
    truth = launch(wide, cycle_ms=knee_ms(wide), rates=rates).throughput.value
    assert speed.low < truth < speed.high
    assert told.of(wide).beyond == "nothing over 16 draft tokens was measured"
    assert found.of(chain(5)).beyond == ""


def test_trees_that_only_chains_tell_of_are_marked() -> None:
    found = belief(BASELINE, LONG, SHORT)
    assert found.of(tree(2, 2)).beyond == "no tree was measured"
    assert found.of(chain(3)).beyond == ""
    assert found.of(chain(15)).beyond == "nothing over 9 draft tokens was measured"
