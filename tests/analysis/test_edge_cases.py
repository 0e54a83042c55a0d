"""Figures at the edge: nothing drafted, nothing counted, wrong units, one of everything, no spread."""

from __future__ import annotations

import math

import pytest

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
from specdoctor.analysis.fit import CyclePoint, fit_cycle
from specdoctor.analysis.interval import exact
from specdoctor.analysis.reading import read_accept_length
from specdoctor.analysis.tail import extend_chain

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


def test_experts_of_no_token_and_of_a_wrong_config():
    assert active_experts(128, 8, 0) == 0
    with pytest.raises(FigureError, match="9 of 8"):
        active_experts(8, 9, 1)
