"""Bounds before a restart: when they refute, when they leave a claim open, and on which assumptions."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from specdoctor.analysis.acceptance import chain_from_conditional
from specdoctor.analysis.bounds import Bound, Open, Refuted, bound_longer_chain, bound_same_steps, judge_claim
from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.interval import between, exact
from specdoctor.analysis.refusal import Refusal

RATE = st.floats(min_value=0.0, max_value=0.97)
CYCLE = st.floats(min_value=1.0, max_value=200.0)
STEPS = st.integers(min_value=1, max_value=15)


def rate(value, low=None, high=None):
    return between(value, low or value, high or value, "fraction", estimator="pooled acceptance of draft 1", n=20)


def longer(first, *, cycle=None, **more):
    return bound_longer_chain(first_acceptance=first, cycle=cycle or exact(20, "ms"), steps_now=1, **more)


class TestSameSteps:
    def test_without_speculation(self):
        bound = bound_same_steps(steps=0, cycle=exact(20, "ms"))
        assert (bound.accept_length.value, bound.throughput.value) == (1.0, pytest.approx(50))
        assert (bound.break_even, bound.payoff) == (None, None)

    def test_pays_when_break_even_is_within_reach(self):
        bound = bound_same_steps(steps=3, cycle=exact(20, "ms"), baseline=exact(90, "tok/s"))
        assert bound.payoff == "not excluded"

    def test_break_even_that_may_reach_the_maximum(self):
        cycle = between(24, 21, 27, "ms", estimator="median of clean log intervals", n=30)
        bound = bound_same_steps(steps=1, cycle=cycle, baseline=exact(90, "tok/s"))
        assert bound.break_even.value > 2.0
        assert bound.payoff == "not excluded"

    def test_assumptions_are_said(self):
        bound = bound_same_steps(steps=2, cycle=exact(20, "ms", estimator="one log interval"))
        assert "the cycle stays as it is now" in bound.assumptions
        assert "no spread is known for: one log interval" in bound.assumptions
        assert not any("typed" in text for text in bound.assumptions)

    def test_seconds_for_the_cycle(self):
        with pytest.raises(FigureError):
            bound_same_steps(steps=1, cycle=exact(0.028, "ms"))


class TestLongerChain:
    def test_rate_that_may_be_one_has_no_limit(self):
        refused = longer(rate(0.95, 0.9, 1.0))
        assert isinstance(refused, Refusal)
        assert refused.kind == "no-limit"
        judged = judge_claim(refused, 90)
        assert isinstance(judged, Open)
        assert judged.bound is None

    def test_rate_that_may_be_one_is_bounded_by_steps(self):
        bound = longer(rate(0.95, 0.9, 1.0), steps=3)
        assert isinstance(bound, Bound)
        assert bound.accept_length.high == pytest.approx(4.0)

    def test_nothing_accepted(self):
        bound = longer(rate(0.0))
        assert bound.accept_length.value == 1.0

    def test_fewer_steps_than_now(self):
        with pytest.raises(FigureError, match="shorter chain"):
            bound_longer_chain(first_acceptance=rate(0.6), cycle=exact(20, "ms"), steps_now=3, steps=2)

    def test_percent(self):
        with pytest.raises(FigureError, match="no rate"):
            longer(between(60, 60, 60, "fraction", estimator="x"))
        with pytest.raises(FigureError, match="no rate"):
            longer(exact(0.6, "ratio"))

    def test_better_later_position_raises_the_bound(self):
        plain, raised = longer(rate(0.6)), longer(rate(0.6), best_later=rate(0.7))
        assert raised.accept_length.value == pytest.approx(1 + 0.6 / 0.3)
        assert raised.accept_length.value > plain.accept_length.value
        assert any("0.7" in text for text in raised.assumptions)

    def test_worse_later_position_changes_nothing(self):
        assert longer(rate(0.6), best_later=rate(0.4)).accept_length.value == pytest.approx(2.5)

    def test_measured_cycle_and_rate_combine(self):
        cycle = between(28.17, 28.0, 28.4, "ms", estimator="median of clean log intervals", n=60)
        bound = longer(rate(0.60, 0.57, 0.63), cycle=cycle, baseline=exact(90, "tok/s"))
        assert bound.throughput.low < 1000 * bound.accept_length.low / 28.17
        assert bound.throughput.high > 1000 * bound.accept_length.high / 28.17
        assert bound.throughput.n == 20


class TestJudge:
    bound = longer(rate(0.6), cycle=exact(28.17, "ms"))

    def test_touching_is_open(self):
        assert isinstance(judge_claim(self.bound, self.bound.throughput.value), Open)

    def test_threshold_with_an_interval(self):
        baseline = between(90, 88, 92, "tok/s", estimator="geometric mean of 5 blocks", n=5)
        assert isinstance(judge_claim(self.bound, baseline), Open)
        sure = between(90, 89.5, 90.5, "tok/s", estimator="geometric mean of 5 blocks", n=5)
        judged = judge_claim(self.bound, sure)
        assert isinstance(judged, Refuted)
        assert judged.reason == "at most 88.7 tok/s, below 90.0 (89.5-90.5)"

    def test_threshold_that_is_no_throughput(self):
        for bad in (exact(11, "ms"), exact(-1, "tok/s"), 0.0):
            with pytest.raises(FigureError, match="no throughput"):
                judge_claim(self.bound, bad)
        with pytest.raises(FigureError):
            judge_claim(self.bound, float("nan"))

    def test_survives_json(self):
        judged = judge_claim(self.bound, 90)
        assert Refuted.model_validate_json(judged.model_dump_json()) == judged
        assert Bound.model_validate_json(self.bound.model_dump_json()) == self.bound


class TestProperties:
    @given(RATE, RATE, CYCLE)
    def test_rises_with_the_first_acceptance(self, a, b, cycle):
        low, high = sorted((a, b))
        bounds = [longer(rate(r), cycle=exact(cycle, "ms")).throughput.value for r in (low, high)]
        assert bounds[0] <= bounds[1] * (1 + 1e-12)

    @given(RATE, STEPS, STEPS)
    def test_rises_with_steps_up_to_the_endless_chain(self, a, k, m):
        low, high = sorted((k, m))
        shorter, further, endless = (longer(rate(a), steps=n).accept_length.value for n in (low, high, None))
        assert shorter <= further + 1e-9 <= endless + 2e-9
        assert further <= bound_same_steps(steps=high, cycle=exact(20, "ms")).accept_length.value

    @given(CYCLE, CYCLE)
    def test_falls_with_the_cycle(self, a, b):
        fast, slow = sorted((a, b))
        found = [bound_same_steps(steps=2, cycle=exact(c, "ms")).throughput.value for c in (fast, slow)]
        assert found[0] >= found[1]

    @given(st.lists(RATE, min_size=1, max_size=10))
    def test_holds_for_every_chain_within_the_assumption(self, rates):
        falling = [min(r, rates[0]) for r in rates]
        chain = chain_from_conditional(falling)
        for steps in (None, chain.steps):
            assert chain.accept_length <= longer(rate(rates[0]), steps=steps).accept_length.high + 1e-9

    @given(st.lists(RATE, min_size=2, max_size=10))
    def test_holds_with_the_best_later_rate_given(self, rates):
        chain = chain_from_conditional(rates)
        bound = longer(rate(rates[0]), best_later=rate(max(rates[1:])))
        assert chain.accept_length <= bound.accept_length.high + 1e-9

    @given(RATE, st.floats(min_value=0.0, max_value=0.02), CYCLE)
    def test_interval_contains_the_exact_bound(self, a, half, cycle):
        assume(half <= a)
        wide = longer(between(a, a - half, a + half, "fraction", estimator="x"), cycle=exact(cycle, "ms")).throughput
        point = longer(rate(a), cycle=exact(cycle, "ms")).throughput
        assert wide.low <= point.value <= wide.high

    @given(RATE, CYCLE, st.floats(min_value=1.0, max_value=1000.0))
    def test_refuted_exactly_when_the_high_end_is_below(self, a, cycle, threshold):
        bound = longer(rate(a), cycle=exact(cycle, "ms"))
        assert isinstance(judge_claim(bound, threshold), Refuted) == (bound.throughput.high < threshold)
