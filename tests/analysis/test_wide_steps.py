"""What more tokens in a forward cost, from more clients on a launch without speculation."""

from __future__ import annotations

import numpy as np
import pytest

from specdoctor.analysis.draft_setting import OFF, chain, grid
from specdoctor.analysis.forecast import Forecast, forecast
from specdoctor.analysis.interval import Estimate, between
from specdoctor.analysis.launch_figures import LaunchFigures, WideStep
from specdoctor.analysis.wide_steps import wide_loads, wider_than
from tests.analysis.test_forecast import BASELINE, RATES, STEP_MS, launch

BENDS_AT = 8.0


def step(value: float, share: float = 0.002) -> Estimate:
    return between(value, value * (1 - share), value * (1 + share), "ms", estimator="made up", n=8)


def test_loads_are_multiples_of_every_concurrency_up_to_64() -> None:
    assert wide_loads((1,)) == (1, 4, 8, 16, 32)
    assert wide_loads((1, 8)) == (1, 4, 8, 16, 32, 64)
    assert max(wide_loads((48,))) == 48


def test_steps_are_ratios_to_the_step_at_the_concurrency_itself() -> None:
    told = wider_than({1: step(10.0), 4: step(11.0), 8: step(14.0), 32: step(40.0)}, 4)
    assert [w.requests for w in told] == [2, 8]
    assert told[0].slower.value == pytest.approx(14.0 / 11.0)
    assert told[0].slower.low < 14.0 / 11.0 < told[0].slower.high
    assert wider_than({4: step(11.0), 8: step(14.0)}, 1) == ()


def cycle_ms(steps: int) -> float:
    """Verifying is free until computing binds, then each token costs."""
    return 12.5 + 0.15 * (steps - 1) + 0.6 * max(steps + 1 - BENDS_AT, 0.0)


def wide() -> tuple[WideStep, ...]:
    return wider_than({n: step(STEP_MS + 0.6 * max(n - BENDS_AT, 0.0)) for n in (1, 4, 8, 16, 32)}, 1)


def worst_error(baseline: LaunchFigures) -> float:
    measured = [launch(chain(k), cycle_ms=cycle_ms(k), rates=RATES[:k] + (0.65,) * (k - 8)) for k in (2, 15)]
    found = forecast((baseline, *measured), grid(), spread=0.01)
    assert isinstance(found, Forecast)
    unseen = [1, 3, 4, 5, 6, 7, 8]
    told = np.array([found.of(chain(k)).cycle_ms for k in unseen])
    return float(np.abs(told / np.array([cycle_ms(k) for k in unseen]) - 1.0).max())


def test_where_computing_begins_to_bind_is_known_by_more_clients_and_not_by_two_chains() -> None:
    assert worst_error(BASELINE) > 0.08
    assert worst_error(BASELINE.model_copy(update={"wide": wide()})) < 0.04


def test_a_forecast_holds_the_steps_of_a_baseline_as_it_holds_everything_measured() -> None:
    baseline = BASELINE.model_copy(update={"wide": wide()})
    long = launch(chain(8), cycle_ms=cycle_ms(8), rates=RATES)
    with_steps, without = (forecast((b, long), grid(), spread=0.01) for b in (baseline, BASELINE))
    assert isinstance(with_steps, Forecast)
    assert isinstance(without, Forecast)
    at = with_steps.settings.index(chain(15))
    assert with_steps.covariance[at, at] < without.covariance[at, at]
    assert with_steps.of(OFF).throughput.value == pytest.approx(without.of(OFF).throughput.value, rel=0.01)
