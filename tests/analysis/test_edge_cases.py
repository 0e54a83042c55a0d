"""Figures at the edge: nothing drafted, nothing counted, wrong units, one of everything, no spread."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from specdoctor.analysis.acceptance import (
    Chain,
    CurvePoint,
    chain_from_accept_lengths,
    chain_from_conditional,
    chain_from_histogram,
    chain_from_marginal,
    curve_problems,
    equal_rate,
    equal_rate_accept_length,
    kind_of_list,
    marginal_problems,
)
from specdoctor.analysis.choice import best_steps, predict
from specdoctor.analysis.conversion import (
    VllmCounters,
    from_conditional_list,
    from_eagle_tau,
    from_llamacpp,
    from_sglang_completion,
    from_sglang_counts,
    from_sglang_histogram,
    from_sglang_log,
    from_sglang_old_log_rate,
    from_sglang_rate,
    from_skipping_proposer,
    from_tensorrt_forced_count,
    from_vllm_counters,
    from_vllm_draft_rate,
    from_vllm_positions,
    sglang_reported,
)
from specdoctor.analysis.cycle import (
    break_even_accept_length,
    cycle_from_throughput_ms,
    decode_throughput_tok_s,
    estimated_break_even,
    estimated_break_even_cycle,
    estimated_cycle,
    estimated_throughput,
    identity_gap,
    required_accept_length,
    speed_up,
    throughput_tok_s,
)
from specdoctor.analysis.experts import active_experts
from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.fit import CycleFit, CyclePoint, fit_cycle
from specdoctor.analysis.interval import exact, from_error
from specdoctor.analysis.reading import compare_slow_down, read_accept_length, read_positions, read_tax
from specdoctor.analysis.reference import (
    REFERENCE_RANGES,
    compare_with_reference,
    more_training_data,
    reference_range,
)
from specdoctor.analysis.refusal import Refusal
from specdoctor.analysis.tail import Extension, extend_chain, shorter_accept_length
from specdoctor.analysis.window import LogInterval, median_cycle

NOT_NUMBERS = [math.nan, math.inf, -math.inf]


class TestNoSpeculation:
    def test_empty_chain(self):
        chain = Chain()
        assert (chain.steps, chain.accept_length, chain.conditional) == (0, 1.0, ())
        assert chain_from_accept_lengths([]) == chain
        assert chain.draft_rate is None
        assert chain.accepted_distribution == (1.0,)
        assert chain.accepted_variance == 0.0

    def test_equal_rate(self):
        assert equal_rate_accept_length(0.7, 0) == 1.0
        assert equal_rate(1.0, 0) is None

    def test_nothing_to_prolong(self):
        assert extend_chain(Chain(), 3).kind == "too-few"

    def test_required(self):
        assert required_accept_length(target=50, cycle_ms=11, steps=0).equal_rate is None
        assert required_accept_length(target=100, cycle_ms=11, steps=0).obstacle == "above-maximum"

    def test_level_is_not_a_fault(self):
        assert read_accept_length(1.0, steps=0) == "plain"


class TestNothingCounted:
    def test_zero_denominators_give_none(self):
        assert from_sglang_counts(0, 0) is None
        assert from_llamacpp(0, 0) is None
        assert from_sglang_histogram([]) is None
        assert from_sglang_histogram([0, 0, 0]) is None
        assert sglang_reported(0, 0) is None
        assert from_skipping_proposer(tokens=0, drafts=0, accepted=0, forwards_without_draft=0) is None

    def test_never_drafted(self):
        found = from_skipping_proposer(tokens=50, drafts=0, accepted=0, forwards_without_draft=50)
        assert (found.per_draft, found.per_forward) == (None, 1.0)

    def test_counters(self):
        before = VllmCounters(accepted_tokens=100, drafts=80)
        assert from_vllm_counters(before, VllmCounters(accepted_tokens=220, drafts=160)) == 2.5
        assert from_vllm_counters(before, before) is None
        assert from_vllm_counters(before, VllmCounters(accepted_tokens=10, drafts=8)) is None
        assert from_vllm_counters(before, VllmCounters(accepted_tokens=10, drafts=90)) is None

    @pytest.mark.parametrize("tokens", [0, 1])
    def test_request_with_at_most_one_token(self, tokens):
        assert from_sglang_completion(tokens, 1) is None

    def test_stream_of_one_chunk(self):
        one = {"tokens": 5, "tokens_in_first_chunk": 5, "first_chunk_s": 1.0, "last_chunk_s": 1.0}
        assert decode_throughput_tok_s(**one) is None
        assert decode_throughput_tok_s(**{**one, "tokens": 25, "last_chunk_s": 1.5}) == pytest.approx(40)

    def test_stream_out_of_order(self):
        with pytest.raises(FigureError, match="after the first chunk"):
            decode_throughput_tok_s(tokens=9, tokens_in_first_chunk=1, first_chunk_s=2.0, last_chunk_s=1.0)


class TestNotNumbers:
    @pytest.mark.parametrize("bad", NOT_NUMBERS)
    def test_every_entry_refuses_them(self, bad):
        for call in (
            lambda: throughput_tok_s(bad, 20),
            lambda: throughput_tok_s(2, bad),
            lambda: cycle_from_throughput_ms(2, bad),
            lambda: break_even_accept_length(bad, 12),
            lambda: identity_gap(throughput=bad, cycle_ms=20, length=2),
            lambda: required_accept_length(target=bad, cycle_ms=20, steps=3),
            lambda: chain_from_marginal([0.5, bad]),
            lambda: chain_from_conditional([bad]),
            lambda: equal_rate(bad, 3),
            lambda: equal_rate_accept_length(bad, 3),
            lambda: from_sglang_log(bad),
            lambda: from_vllm_counters(
                VllmCounters(accepted_tokens=0, drafts=0), VllmCounters(accepted_tokens=bad, drafts=1)
            ),
            lambda: fit_cycle([CyclePoint(steps=1, cycle_ms=bad), CyclePoint(steps=2, cycle_ms=20)]),
            lambda: curve_problems([CurvePoint(steps=1, accept_length=bad)]),
            lambda: exact(bad, "ms"),
        ):
            with pytest.raises(FigureError):
                call()

    def test_a_gap_that_is_no_number_blocks_the_fit(self):
        points = [CyclePoint(steps=1, cycle_ms=20, gap=math.nan), CyclePoint(steps=3, cycle_ms=22)]
        assert fit_cycle(points).kind == "identity-gap"


class TestUnits:
    @pytest.mark.parametrize("cycle", [0.028, 28_170.0, -3.0, 0.0])
    def test_seconds_and_microseconds_are_no_cycle(self, cycle):
        with pytest.raises(FigureError, match=r"outside 0\.1 to 10000 ms") as caught:
            throughput_tok_s(2.0, cycle)
        assert caught.value.next_step == "give it in milliseconds"

    def test_percent_is_no_fraction(self):
        with pytest.raises(FigureError) as caught:
            chain_from_conditional([60, 40])
        assert "percent" in caught.value.next_step
        assert "percent" in marginal_problems([60.0])[0]

    def test_estimates_of_another_unit(self):
        with pytest.raises(FigureError, match="where ms is meant"):
            estimated_throughput(exact(2, "tokens/cycle"), exact(0.02, "s"))
        with pytest.raises(FigureError, match="where tokens/cycle is meant"):
            estimated_cycle(exact(0.5, "fraction"), exact(90, "tok/s"))
        with pytest.raises(FigureError, match="where tok/s is meant"):
            estimated_break_even(exact(20, "ms"), exact(12, "ms"))


class TestWrongConvention:
    def test_accept_length_above_the_maximum(self):
        with pytest.raises(FigureError, match="exceeds 4"):
            equal_rate(4.2, 3)
        with pytest.raises(FigureError, match="only 2 draft steps"):
            chain_from_histogram([5, 3, 2, 1], steps=2)

    def test_accept_length_without_the_bonus_token(self):
        with pytest.raises(FigureError, match="bonus token"):
            from_sglang_log(0.6)
        with pytest.raises(FigureError, match="bonus token"):
            from_sglang_completion(10, 20)

    def test_increasing_list_cannot_be_marginal(self):
        reading = kind_of_list((0.6, 0.7), 2.02)
        assert (reading.kind, reading.as_marginal) == ("conditional", None)
        with pytest.raises(FigureError, match="not a marginal list"):
            chain_from_marginal((0.6, 0.7))

    def test_one_position_is_either_kind(self):
        assert kind_of_list((0.6,), 1.6).kind == "either"

    def test_neither_reading_fits(self):
        assert kind_of_list((0.6, 0.4), 3.0).kind == "neither"

    def test_all_faults_of_a_list_at_once(self):
        assert len(marginal_problems([1.2, -0.1, math.nan, 0.3, 0.5])) == 4

    def test_small_noise_is_tolerated(self):
        chain = chain_from_marginal((0.500, 0.505))
        assert chain.conditional == (0.5, 1.0)
        assert chain.accepted_distribution == (0.5, 0.0, 0.5)


def test_conversions_that_only_name_a_convention():
    assert from_sglang_log(2.5) == from_eagle_tau(2.5) == 2.5
    assert from_sglang_rate(0.5, 4) == 2.5
    assert from_sglang_rate(0.0, 1) == 1.0
    assert from_sglang_old_log_rate(0.625, 4) == 2.5
    assert from_vllm_positions((0.6, 0.4)) == 2.0
    assert from_vllm_draft_rate(0.5, 3) == 2.5
    assert from_conditional_list((0.6, 0.5)) == pytest.approx(1.9)
    assert from_tensorrt_forced_count(2) == 3.0
    with pytest.raises(FigureError, match="includes the root"):
        from_sglang_rate(0.5, 0)


class TestHistogram:
    def test_list_cut_after_the_last_bucket_is_filled_up(self):
        chain = chain_from_histogram([760, 3], steps=3)
        assert chain.steps == 3
        assert chain.marginal == pytest.approx((3 / 763, 0, 0))
        assert chain.conditional[1:] == (0.0, 0.0)
        assert chain_from_histogram([760, 3]).steps == 1

    def test_trailing_zeros_do_not_count_as_drafts(self):
        assert chain_from_histogram([10, 3, 4, 41, 0, 0], steps=3).marginal == pytest.approx(
            (48 / 58, 45 / 58, 41 / 58)
        )

    def test_counts_of_a_live_request(self):
        assert from_sglang_histogram([10, 3, 4, 41]) == pytest.approx(from_sglang_counts(134, 58))

    def test_all_rejected(self):
        assert chain_from_histogram([9], steps=2).accept_length == 1.0

    def test_negative_count(self):
        with pytest.raises(FigureError, match="negative count"):
            chain_from_histogram([4, -1])


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


def test_identity_gap_levels():
    assert identity_gap(throughput=99, cycle_ms=20, length=2).reading == "consistent"
    assert identity_gap(throughput=93, cycle_ms=20, length=2).reading == "finding"
    assert identity_gap(throughput=115, cycle_ms=20, length=2).reading == "blocks-fit"


def test_target_below_one_token_a_cycle_needs_nothing():
    needed = required_accept_length(target=40, cycle_ms=20, steps=3)
    assert (needed.accept_length, needed.equal_rate, needed.obstacle) == (0.8, pytest.approx(0.0, abs=1e-9), None)


def test_speed_up_and_break_even_agree():
    assert speed_up(2.0, 20, 10) == pytest.approx(1.0)
    assert estimated_break_even(exact(30, "ms"), exact(82, "tok/s")).value == pytest.approx(2.46)
    assert estimated_break_even_cycle(exact(2, "tokens/cycle"), exact(82, "tok/s")).value == pytest.approx(
        24.39, rel=1e-3
    )
    assert estimated_cycle(exact(1.6, "tokens/cycle"), exact(56.8, "tok/s")).value == pytest.approx(28.169, rel=1e-4)


class TestWindow:
    def interval(self, throughput, **changes):
        return LogInterval(
            **{"running": 1, "running_before": 1, "throughput_tok_s": throughput, "accept_length": 2.5, **changes}
        )

    def test_median_of_clean_intervals(self):
        dirty = [
            self.interval(0.13, after_idle=True),
            self.interval(168.0, has_prefill=True),
            self.interval(700.0, tokens_held=0),
            self.interval(388.0, running_before=2),
            self.interval(0.0),
        ]
        clean = [self.interval(t) for t in (740, 750, 760, 770, 745, 755, 765)]
        found = median_cycle([*dirty, *clean])
        assert found.value == pytest.approx(2500 / 755)
        assert (found.n, found.unit) == (7, "ms")
        assert (found.low, found.high) == (pytest.approx(2500 / 770), pytest.approx(2500 / 740))

    def test_interval_narrows_with_more_lines(self):
        found = median_cycle([self.interval(700 + i) for i in range(101)])
        assert found.low == pytest.approx(2500 / 760)
        assert found.high == pytest.approx(2500 / 740)

    def test_baseline_has_no_accept_length(self):
        found = median_cycle(
            [self.interval(t, accept_length=None, running=4, running_before=4) for t in (400, 400, 400)]
        )
        assert (found.value, found.width) == (10.0, 0.0)

    def test_few_values_give_their_range(self):
        found = median_cycle([self.interval(t) for t in (700, 710, 720)])
        assert (found.low, found.high) == (pytest.approx(2500 / 720), pytest.approx(2500 / 700))
        assert "full range (75%)" in found.estimator

    def test_too_few(self):
        assert median_cycle([self.interval(700)]).kind == "too-few"
        assert median_cycle([]).kind == "too-few"

    def test_load_that_changes(self):
        mixed = [self.interval(700 * b, running=b, running_before=b) for b in (1, 1, 1, 2, 2, 2)]
        assert median_cycle(mixed).kind == "mixed-load"
        assert median_cycle(mixed, running=2).n == 3

    def test_steps_that_change(self):
        mixed = [self.interval(700, steps=k) for k in (1, 1, 1, 3, 3, 3)]
        assert median_cycle(mixed).kind == "mixed-steps"
        assert median_cycle(mixed, steps=3).n == 3

    def test_two_states(self):
        both = [self.interval(2500 / c) for c in (3.35, 3.36, 3.34, 3.37, 5.0, 5.02, 4.99, 5.01)]
        refused = median_cycle(both)
        assert refused.kind == "two-states"
        assert "3.35 ms (4 intervals)" in refused.reason

    def test_one_outlier_among_many_is_no_state(self):
        found = median_cycle([*[self.interval(2500 / (3.3 + i / 1000)) for i in range(30)], self.interval(2500 / 6.0)])
        assert found.n == 31


class TestReadings:
    @pytest.mark.parametrize(
        ("fixed", "step", "reading"),
        [(8.2, 7.07, "healthy"), (17.7, 12.1, "look"), (27.5, 12.1, "system-fault"), (3.4, 1.55, "small-target")],
    )
    def test_tax(self, fixed, step, reading):
        assert read_tax(fixed_ms=fixed, baseline_step_ms=step).reading == reading

    def test_levels(self):
        assert read_accept_length(1.005, steps=3) == "not-aligned"
        assert read_accept_length(2.3, steps=3) == "plain"
        assert read_accept_length(3.95, steps=3) == "near-maximum"
        assert read_accept_length(1.97, steps=1) == "plain"

    def test_positions(self):
        assert read_positions(Chain(marginal=(0.45, 0.3)), least_first=0.78).kind == "first-low"
        assert read_positions(Chain(marginal=(0.8, 0.2))).position == 2
        assert read_positions(Chain(marginal=(0.8, 0.6, 0.1))).position == 3
        assert read_positions(Chain(marginal=(0.83, 0.60, 0.45)), least_first=0.78).kind == "plain"
        assert read_positions(Chain(marginal=(0.8, 0.0, 0.0))).position == 2
        assert read_positions(Chain()).kind == "plain"
        assert read_positions(Chain(marginal=(0.0, 0.0))).kind == "plain"

    @pytest.mark.parametrize(
        ("after", "kind"), [((12, 24), "uniform"), ((10, 26), "cycle-more"), ((13, 20), "baseline-more")]
    )
    def test_slow_down(self, after, kind):
        found = compare_slow_down(
            step_before=exact(10, "ms"),
            step_after=exact(after[0], "ms"),
            cycle_before=exact(20, "ms"),
            cycle_after=exact(after[1], "ms"),
        )
        assert found.kind == kind

    def test_slow_down_that_cannot_be_told(self):
        wide = from_error(20, 1.5, "ms", estimator="median", n=4)
        found = compare_slow_down(
            step_before=exact(10, "ms"), step_after=exact(11, "ms"), cycle_before=wide, cycle_after=exact(23, "ms")
        )
        assert found.kind == "undecided"


class TestReference:
    def test_own_family_before_any(self):
        assert reference_range(family="kimi-k2", steps=3, domain="gsm8k").low == 2.95
        assert reference_range(family="kimi-k2", steps=3, domain="coding").family == "any"
        assert reference_range(family="any", steps=4, domain="coding") is None
        assert reference_range(family="any", steps=3, domain="gsm8k") is None

    def test_every_row_names_its_source(self):
        assert all(row.source and row.source in row.name for row in REFERENCE_RANGES)

    def test_impossible_row(self):
        with pytest.raises(ValidationError, match="impossible at 1 steps"):
            type(REFERENCE_RANGES[0]).model_validate({**REFERENCE_RANGES[0].model_dump(), "high": 2.5})

    @pytest.mark.parametrize(("value", "place"), [(2.0, "below"), (2.9, "within"), (3.6, "above"), (2.36, "undecided")])
    def test_places(self, value, place):
        row = reference_range(family="any", steps=3, domain="coding")
        measured = from_error(value, 0.02, "tokens/cycle", estimator="pooled", n=40)
        assert compare_with_reference(measured, row).place == place

    def test_one_doubling_within_a_recipe_has_no_caveat(self):
        found = more_training_data(length_now=2.8, samples_now=400_000, samples_then=800_000)
        assert (found.by_doublings.value, found.caveats) == (pytest.approx(2.85), ())

    def test_less_data_keeps_the_interval_in_order(self):
        found = more_training_data(length_now=1.05, samples_now=800_000, samples_then=400_000)
        assert found.by_doublings.low == 1.0
        assert found.by_line_low <= found.by_line_high


def test_experts_of_no_token_and_of_a_wrong_config():
    assert active_experts(128, 8, 0) == 0
    with pytest.raises(FigureError, match="9 of 8"):
        active_experts(8, 9, 1)
