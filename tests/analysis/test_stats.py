"""Tests on means, states, autocorrelation and the bootstrap, with and without spread."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.interval import Estimate
from specdoctor.analysis.stats import (
    DEFAULT_LAUNCH_SD,
    Comparison,
    TTest,
    autocorrelation,
    block_mean,
    bootstrap_ratio,
    compare_blocks,
    effective_n,
    paired,
    two_states,
    welch,
)
from specdoctor.analysis.student import t_quantile, two_sided_p


class TestStudent:
    @pytest.mark.parametrize("df", [1.0, 2.0, 4.0, 7.8, 30.0, 500.0])
    @pytest.mark.parametrize("t", [0.0, 0.1, 1.0, 2.5, 9.0])
    def test_p_agrees_with_scipy(self, df, t):
        from scipy import stats as scipy_stats  # late: listing the tests needs no scipy

        assert two_sided_p(t, df) == pytest.approx(2 * scipy_stats.t.sf(t, df), rel=1e-9)

    @pytest.mark.parametrize("df", [1.0, 2.0, 7.8, 100.0])
    @pytest.mark.parametrize("level", [0.90, 0.95, 0.99])
    def test_quantile_agrees_with_scipy(self, df, level):
        from scipy import stats as scipy_stats

        assert t_quantile(level, df) == pytest.approx(scipy_stats.t.ppf(0.5 + level / 2, df), rel=1e-9)


class TestTTests:
    def test_welch_agrees_with_scipy(self):
        from scipy import stats as scipy_stats

        a, b = [3.1, 2.9, 3.5, 3.3], [4.0, 4.4, 3.2, 5.0, 4.1, 4.3]
        found, known = welch(a, b), scipy_stats.ttest_ind(b, a, equal_var=False)
        assert isinstance(found, TTest)
        assert (found.t, found.p, found.df) == pytest.approx((known.statistic, known.pvalue, known.df))

    @pytest.mark.parametrize("run", [welch, paired])
    def test_no_spread_gives_no_p(self, run):
        found = run([2.0, 2.0, 2.0], [3.0, 3.0, 3.0])
        assert (found.p, found.t, found.low, found.high) == (None, None, 1.0, 1.0)
        assert (found.n_first, found.n_second) == (3, 3)

    @pytest.mark.parametrize("run", [welch, paired])
    def test_one_value_is_refused(self, run):
        assert run([2.0], [3.0]).kind == "too-few"

    def test_unequal_pairs(self):
        with pytest.raises(FigureError, match="cannot be paired"):
            paired([1, 2, 3], [1, 2])

    def test_not_a_number(self):
        with pytest.raises(FigureError):
            welch([1.0, math.nan], [1.0, 2.0])

    @given(st.lists(st.floats(min_value=1, max_value=1e3), min_size=2, max_size=12))
    def test_sample_against_itself_shows_nothing(self, values):
        assert welch(values, values).difference == 0.0
        found = welch(values, values)
        assert found.low <= 0.0 <= found.high
        assert paired(values, values).t is None


class TestCompare:
    def test_verdicts(self):
        base = [100.0, 100.5, 99.5, 100.2]
        cases = {
            "better": [110.0, 110.6, 109.2, 110.3],
            "worse": [73.0, 73.4, 72.7, 73.1],
            "no difference": [100.1, 100.4, 99.6, 100.3],
            "inconclusive": [90.0, 112.0, 97.0, 108.0],
        }
        for verdict, arm in cases.items():
            found = compare_blocks(base, arm, margin=0.02)
            assert isinstance(found, Comparison)
            assert found.verdict == verdict

    def test_two_blocks_are_inconclusive(self):
        found = compare_blocks([100.0, 100.1], [50.0, 50.1], margin=0.02)
        assert isinstance(found, Comparison)
        assert found.verdict == "inconclusive"
        assert found.ratio.value == pytest.approx(0.5, rel=1e-3)

    def test_pairs_narrow_the_interval(self):
        first = [100.0, 90.0, 110.0, 95.0]
        second = [v * f for v, f in zip(first, (1.05, 1.051, 1.049, 1.05), strict=True)]
        tied, free = (compare_blocks(first, second, margin=0.01, pairs=p) for p in (True, False))
        assert tied.ratio.width < free.ratio.width
        assert (tied.verdict, free.verdict) == ("better", "inconclusive")

    def test_refusals_and_bad_figures(self):
        assert compare_blocks([100.0], [90.0], margin=0.02).kind == "too-few"
        with pytest.raises(FigureError):
            compare_blocks([100.0, 0.0], [90.0, 91.0], margin=0.02)


class TestBlockMean:
    def test_geometric_mean_with_t_interval(self):
        found = block_mean([50.0, 200.0], "tok/s")
        assert isinstance(found, Estimate)
        assert found.value == pytest.approx(100.0)
        assert found.high / found.value == pytest.approx(found.value / found.low)

    def test_single_block(self):
        assert block_mean([100.0], "tok/s").kind == "too-few"
        assert block_mean([], "tok/s", between_launch_sd=0.05).kind == "too-few"
        one = block_mean([100.0], "tok/s", between_launch_sd=DEFAULT_LAUNCH_SD)
        assert (one.value, one.n) == (pytest.approx(100.0), 1)
        assert one.high == pytest.approx(100 * math.exp(1.96 * 0.05), rel=1e-3)
        assert "5.0% between launches" in one.estimator

    def test_no_spread(self):
        found = block_mean([90.0, 90.0, 90.0], "tok/s")
        assert (found.n, found.width) == (3, pytest.approx(0.0))

    def test_launch_spread_widens(self):
        blocks = [100.0, 101.0, 99.0]
        assert block_mean(blocks, "tok/s", between_launch_sd=0.05).width > block_mean(blocks, "tok/s").width


class TestTwoStates:
    def test_two_groups(self):
        found = two_states([1.27, 1.9, 1.26, 1.28, 1.91, 1.89])
        assert (found.low_count, found.high_count) == (3, 3)
        assert (found.low_median, found.high_median) == (1.27, 1.9)

    def test_one_group(self):
        assert two_states([100, 101, 99, 100.5, 99.5]) is None

    def test_wide_but_even_spread_is_one_state(self):
        assert two_states([60, 80, 100, 120, 140]) is None

    @pytest.mark.parametrize("values", [[], [5.0], [5.0, 5.0, 5.0]])
    def test_too_little_to_split(self, values):
        assert two_states(values) is None

    def test_least_share(self):
        values = [10 + i / 100 for i in range(20)] + [30.0]
        assert two_states(values).high_count == 1
        assert two_states(values, least_share=0.1) is None

    def test_outlier_does_not_hide_the_states(self):
        values = [10 + i / 100 for i in range(10)] + [15 + i / 100 for i in range(10)] + [90.0]
        found = two_states(values, least_share=0.1)
        assert (found.low_count, found.high_count) == (10, 11)


class TestAutocorrelation:
    def test_signs(self):
        assert autocorrelation([1, 2, 3, 4, 5, 6, 7, 8]) > 0.5
        assert autocorrelation([1, 2, 1, 2, 1, 2, 1, 2]) < -0.5

    @pytest.mark.parametrize("values", [[], [1.0, 2.0], [3.0, 3.0, 3.0]])
    def test_undefined(self, values):
        assert autocorrelation(values) is None

    def test_effective_n_never_grows(self):
        assert effective_n(50, -0.4) == 50
        with pytest.raises(FigureError):
            effective_n(50, 1.0)


class TestBootstrap:
    def test_is_repeatable_and_close_to_theory(self):
        source = random.Random(3)
        pairs = [(source.gauss(1.5, 0.3) * 100, 100.0) for _ in range(60)]
        first, again = bootstrap_ratio(pairs), bootstrap_ratio(pairs)
        assert first == again
        assert first.n == 60
        assert first.resamples >= 2000
        assert first.standard_error == pytest.approx(0.3 / math.sqrt(60), rel=0.25)
        assert bootstrap_ratio(pairs, seed=9).standard_error != first.standard_error

    def test_one_unit_has_no_spread(self):
        found = bootstrap_ratio([(30, 20)])
        assert (found.value, found.standard_error, found.n) == (1.5, None, 1)

    def test_units_without_denominator_are_left_out(self):
        assert bootstrap_ratio([(0, 0), (30, 20)]).n == 1
        assert bootstrap_ratio([(0, 0)]) is None
        assert bootstrap_ratio([]) is None

    @pytest.mark.parametrize("pair", [(-1, 5), (1, -5), (math.nan, 5)])
    def test_impossible_counts(self, pair):
        with pytest.raises(FigureError):
            bootstrap_ratio([pair])

    @settings(max_examples=20)
    @given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 100)), min_size=2, max_size=8))
    def test_value_is_the_ratio_of_sums(self, pairs):
        found = bootstrap_ratio(pairs, resamples=50)
        assert found.value == pytest.approx(sum(t for t, _ in pairs) / sum(b for _, b in pairs))
        assert found.standard_error >= 0.0
