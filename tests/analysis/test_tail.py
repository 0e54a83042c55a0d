"""Chains prolonged or cut, and accept lengths over several numbers of draft steps."""

from __future__ import annotations

import pytest

from specdoctor.analysis.acceptance import (
    Chain,
    CurvePoint,
    chain_from_accept_lengths,
    curve_problems,
)
from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.interval import from_error
from specdoctor.analysis.refusal import Refusal
from specdoctor.analysis.tail import Extension, extend_chain, shorter_accept_length


class TestTail:
    def test_one_position_uses_the_first_rate_and_widens(self):
        one, two = extend_chain(Chain(marginal=(0.6,)), 2), extend_chain(Chain(marginal=(0.6, 0.36)), 3)
        assert isinstance(one, Extension)
        assert isinstance(two, Extension)
        assert one.tail_rate == pytest.approx(0.6)
        assert one.accept_length.low == pytest.approx(one.accept_length.value * 0.94)
        assert two.accept_length.low == pytest.approx(two.accept_length.value * 0.97)

    def test_last_position_never_accepted(self):
        longer = extend_chain(Chain(marginal=(0.5, 0.0)), 5)
        assert isinstance(longer, Extension)
        assert (longer.tail_rate, longer.accept_length.value) == (0.0, 1.5)

    def test_same_steps_add_nothing(self):
        same = extend_chain(Chain(marginal=(0.6, 0.4)), 2)
        assert isinstance(same, Extension)
        assert same.accept_length.width == 0.0

    def test_interval_grows_and_stays_possible(self):
        chain = Chain(marginal=(0.83, 0.60, 0.45))
        widths = [extend_chain(chain, k).accept_length.width for k in range(3, 16)]
        assert widths == sorted(widths)
        assert extend_chain(Chain(marginal=(1.0, 1.0)), 9).accept_length.high == 10.0

    def test_uncertain_tail_is_refused(self):
        unsure = from_error(0.75, 0.08, "fraction", estimator="pooled acceptance of draft 3", n=6)
        sure = from_error(0.74, 0.01, "fraction", estimator="pooled acceptance of draft 3", n=96)
        chain = Chain(marginal=(0.83, 0.60, 0.45))
        assert extend_chain(chain, 7, tail=unsure).kind == "tail-unsure"
        assert extend_chain(chain, 7, tail=sure).tail_rate == 0.74

    def test_shorter_is_no_extension(self):
        assert isinstance(extend_chain(Chain(marginal=(0.6, 0.4)), 1), Refusal)

    def test_shorter_chain_is_a_lower_bound(self):
        chain = Chain(marginal=(0.83, 0.60, 0.45))
        short = shorter_accept_length(chain, 2)
        assert (short.low, short.value) == (pytest.approx(2.43), pytest.approx(2.43))
        assert short.high == pytest.approx(2.43 * 1.1)
        assert shorter_accept_length(chain, 1).high == 2.0
        assert shorter_accept_length(chain, 3).width == 0.0
        assert shorter_accept_length(chain, 0).value == 1.0
        assert shorter_accept_length(chain, 4).kind == "too-few"


class TestCurve:
    def points(self, *pairs, se=0.0):
        return [CurvePoint(steps=k, accept_length=al, standard_error=se) for k, al in pairs]

    def test_plain(self):
        assert curve_problems(self.points((1, 1.84), (2, 2.53), (3, 3.02), (5, 3.74), (7, 4.11))) == ()

    def test_falls(self):
        assert {p.kind for p in curve_problems(self.points((1, 1.6), (15, 1.5)))} == {"falls"}

    def test_bends_upwards(self):
        assert [p.kind for p in curve_problems(self.points((1, 1.3), (2, 1.9)))] == ["not-concave"]

    def test_within_two_standard_errors(self):
        assert curve_problems(self.points((1, 1.6), (15, 1.5), se=0.05)) == ()
        assert curve_problems(self.points((1, 1.6), (15, 1.5), se=0.02)) != ()

    def test_outside_range(self):
        assert [p.kind for p in curve_problems(self.points((2, 3.4)))] == ["outside-range"]
        assert curve_problems(self.points((2, 0.8)))[0].kind == "outside-range"

    def test_chain_from_a_falling_curve(self):
        with pytest.raises(FigureError):
            chain_from_accept_lengths([1.6, 1.5])
