"""The line of the cycle over draft steps, and the choice of draft steps."""

from __future__ import annotations

import math

import pytest

from specdoctor.analysis.choice import best_steps, predict
from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.fit import CycleFit, CyclePoint, fit_cycle
from specdoctor.analysis.interval import exact, from_error


class TestFit:
    def test_too_few_points(self):
        assert fit_cycle([]).kind == "too-few"
        refused = fit_cycle([CyclePoint(steps=2, cycle_ms=20)])
        assert refused.kind == "too-few"

    def test_equal_steps_are_averaged_not_a_line(self):
        refused = fit_cycle([CyclePoint(steps=2, cycle_ms=20), CyclePoint(steps=2, cycle_ms=22)])
        assert refused.kind == "one-draft-length"
        assert "21 ms" in refused.reason

    def test_equal_steps_beside_another(self):
        fit = fit_cycle([CyclePoint(steps=k, cycle_ms=c) for k, c in ((1, 20), (1, 22), (3, 25))])
        assert (fit.per_step_ms, fit.fixed_ms) == pytest.approx((2.0, 19.0))
        assert fit.method == "exact line"

    def test_negative_slope(self):
        assert fit_cycle([CyclePoint(steps=1, cycle_ms=22), CyclePoint(steps=5, cycle_ms=20)]).kind == "negative-slope"

    def test_intercept_below_the_baseline(self):
        points = [CyclePoint(steps=1, cycle_ms=12), CyclePoint(steps=5, cycle_ms=28)]
        assert fit_cycle(points, baseline_step_ms=12).kind == "intercept-below-baseline"
        assert isinstance(fit_cycle(points), CycleFit)

    def test_two_states_of_the_system(self):
        points = [CyclePoint(steps=1, cycle_ms=28, state="old"), CyclePoint(steps=5, cycle_ms=33, state="new")]
        refused = fit_cycle(points)
        assert refused.kind == "states-differ"
        assert "old" in refused.reason

    def test_flat_line_is_kept_and_said_not_to_differ_from_zero(self):
        points = [CyclePoint(steps=k, cycle_ms=c, variance=0.02) for k, c in ((1, 3.40), (7, 3.58))]
        fit = fit_cycle(points, baseline_step_ms=1.56)
        assert fit.slope_differs_from_zero is False
        assert fit.per_step_ms == pytest.approx(0.03)

    def test_weights_pull_towards_the_sure_points(self):
        points = [
            CyclePoint(steps=k, cycle_ms=c, variance=v) for k, c, v in ((1, 20, 0.01), (3, 22, 0.01), (5, 30, 9.0))
        ]
        fit = fit_cycle(points)
        assert fit.method == "weighted least squares"
        assert fit.cycle_ms(3) == pytest.approx(22, abs=0.05)
        assert fit.slope_differs_from_zero is True

    def test_error_of_the_line(self):
        points = [CyclePoint(steps=k, cycle_ms=20 + k, variance=0.04) for k in (1, 7)]
        fit = fit_cycle(points)
        assert fit.cycle_se_ms(1) == pytest.approx(0.2)
        assert fit.cycle_se_ms(4) == pytest.approx(0.2 / math.sqrt(2))
        unknown = fit_cycle([CyclePoint(steps=k, cycle_ms=20 + k) for k in (1, 7)])
        assert unknown.cycle_se_ms(4) is None
        assert unknown.slope_differs_from_zero is None

    def test_variance_must_be_positive(self):
        with pytest.raises(FigureError, match="variance"):
            fit_cycle([CyclePoint(steps=1, cycle_ms=20, variance=0.0), CyclePoint(steps=2, cycle_ms=20, variance=1.0)])


class TestChoice:
    def test_nothing_to_choose_from(self):
        with pytest.raises(FigureError, match="no prediction"):
            best_steps(())

    def test_unsure_when_intervals_meet(self):
        fit = fit_cycle([CyclePoint(steps=k, cycle_ms=20 + k, variance=0.04) for k in (1, 7)])
        lengths = {3: from_error(2.5, 0.1, "tokens/cycle", estimator="pooled", n=20)}
        predictions = predict(lengths, fit)
        assert predictions[0].throughput.width > 0
        value = predictions[0].throughput.value
        assert best_steps(predictions, baseline=exact(value * 1.02, "tok/s")).advice == "unsure"
        assert best_steps(predictions, baseline=exact(value * 1.2, "tok/s")).advice == "off"
        assert best_steps(predictions, baseline=exact(value * 0.8, "tok/s")).advice == "on"
        assert best_steps(predictions).advice is None

    def test_unknown_error_of_the_fit_is_said(self):
        fit = fit_cycle([CyclePoint(steps=1, cycle_ms=20), CyclePoint(steps=5, cycle_ms=22)])
        prediction = predict({3: exact(2.5, "tokens/cycle")}, fit)[0]
        assert "error unknown" in prediction.cycle.estimator
