"""Worked examples with known results: each figure is checked within 0.5 % unless another tolerance is given."""

from __future__ import annotations

import pytest

from specdoctor.analysis.acceptance import (
    Chain,
    chain_from_accept_lengths,
    chain_from_marginal,
    equal_rate,
    equal_rate_accept_length,
    kind_of_list,
)
from specdoctor.analysis.bounds import (
    Bound,
    Open,
    Refuted,
    bound_longer_chain,
    bound_same_steps,
    judge_claim,
)
from specdoctor.analysis.choice import best_steps, marginal_threshold, predict, worth_one_more
from specdoctor.analysis.conversion import from_sglang_completion, from_skipping_proposer, sglang_reported
from specdoctor.analysis.cycle import (
    baseline_step_ms,
    break_even_accept_length,
    break_even_cycle_ms,
    cycle_from_log_ms,
    cycle_from_throughput_ms,
    identity_gap,
    required_accept_length,
    throughput_tok_s,
)
from specdoctor.analysis.experts import active_experts, expert_traffic_ratio
from specdoctor.analysis.fit import CycleFit, CyclePoint, fit_cycle
from specdoctor.analysis.interval import exact, from_error
from specdoctor.analysis.pooling import planned_standard_error
from specdoctor.analysis.reading import compare_slow_down, read_tax
from specdoctor.analysis.reference import more_training_data
from specdoctor.analysis.stats import TTest, effective_n, paired, welch
from specdoctor.analysis.tail import Extension, extend_chain

REL = 0.005
STEP_MS = 1000.0 / 82.5
SLOW = CycleFit(fixed_ms=27.507, per_step_ms=0.8797, method="least squares", steps=(1, 2, 15))
FAST = CycleFit(fixed_ms=17.741, per_step_ms=0.8797, method="least squares", steps=(2,))
KIMI_CURVE = (1.83, 2.43, 2.88, 3.24, 3.46, 3.62, 3.71, 3.77)


def near(expected: object) -> object:
    return pytest.approx(expected, rel=REL)


def two_position_chain() -> Chain:
    longer = extend_chain(Chain(marginal=(0.6, 0.4)), 7)
    assert isinstance(longer, Extension)
    assert longer.tail_rate == near(0.667)
    return longer.chain


def lengths_of(chain: Chain) -> dict[int, object]:
    return {k: exact(chain.first(k).accept_length, "tokens/cycle") for k in range(1, chain.steps + 1)}


@pytest.mark.parametrize(
    ("marginal", "length", "rate", "conditional"),
    [
        ((0.77, 0.45, 0.24), 2.46, 0.4867, (0.770, 0.584, 0.533)),
        ((0.933, 0.865, 0.804), 3.602, 0.8673, (0.933, 0.927, 0.929)),
    ],
)
def test_a_chain(marginal, length, rate, conditional):
    chain = chain_from_marginal(marginal)
    assert chain.accept_length == near(length)
    assert chain.draft_rate == near(rate)
    assert chain.conditional == near(conditional)


def test_b_kind_of_an_unlabelled_list():
    reading = kind_of_list((0.633, 0.404, 0.264), 2.30)
    assert reading.kind == "marginal"
    assert reading.as_marginal == near(2.301)
    assert reading.as_conditional == near(1.956)
    assert chain_from_marginal((0.633, 0.404, 0.264)).conditional == near((0.633, 0.638, 0.653))


def test_c_distribution_of_accepted_drafts():
    chain = chain_from_marginal((0.6, 0.4))
    assert chain.accepted_distribution == near((0.4, 0.2, 0.4))
    assert chain.accept_length == near(2.0)
    assert chain.accepted_variance == near(0.8)


@pytest.mark.parametrize(
    ("rate", "steps", "length"),
    [(0.6, 1, 1.6), (0.6, 3, 2.176), (0.6, 5, 2.38336), (0.8, 1, 1.8), (0.8, 3, 2.952), (0.8, 5, 3.68928)],
)
def test_d_equal_rate(rate, steps, length):
    assert equal_rate_accept_length(rate, steps) == pytest.approx(length, rel=1e-9)
    assert equal_rate(length, steps) == pytest.approx(rate, abs=1e-9)


def test_d_inversion_of_a_measured_length():
    assert equal_rate(3.37, 3) == near(0.887)


def test_e_proposer_that_skips_steps():
    ngram = from_skipping_proposer(tokens=5376, drafts=993, accepted=3562, forwards_without_draft=821)
    assert ngram is not None
    assert ngram.per_draft == near(4.587)
    assert ngram.per_forward == near(2.964)


def test_f_break_even():
    step = baseline_step_ms(82.5)
    assert step == near(12.121)
    assert break_even_accept_length(29.5, step) == near(2.434)
    assert break_even_accept_length(19.5, step) == near(1.609)
    assert break_even_accept_length(30.0, baseline_step_ms(82.0)) == near(2.46)


def test_g_cycles_from_throughput_and_the_line_through_two():
    first, last = cycle_from_throughput_ms(1.6, 56.8), cycle_from_throughput_ms(1.9, 46.7)
    assert (first, last) == near((28.169, 40.685))
    fit = fit_cycle([CyclePoint(steps=1, cycle_ms=first), CyclePoint(steps=15, cycle_ms=last)])
    assert isinstance(fit, CycleFit)
    assert (fit.per_step_ms, fit.fixed_ms, fit.cycle_ms(2)) == near((0.8940, 27.275, 29.063))
    assert fit.method == "exact line"


def test_g_least_squares_and_tax():
    points = [
        CyclePoint(steps=1, cycle_ms=28.169),
        CyclePoint(steps=15, cycle_ms=40.685),
        CyclePoint(steps=2, cycle_ms=29.5),
    ]
    fit = fit_cycle(points, baseline_step_ms=STEP_MS)
    assert isinstance(fit, CycleFit)
    assert fit.method == "least squares"
    assert (fit.fixed_ms, fit.per_step_ms) == near((27.507, 0.8797))
    slow = read_tax(fixed_ms=fit.fixed_ms, baseline_step_ms=STEP_MS)
    assert (slow.ratio, slow.reading) == (near(2.27), "system-fault")
    fast_fixed = 19.5 - 2 * fit.per_step_ms
    assert fast_fixed == near(17.741)
    fast = read_tax(fixed_ms=fast_fixed, baseline_step_ms=STEP_MS)
    assert (fast.ratio, fast.reading) == (near(1.464), "look")


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        (SLOW, {1: 2.34, 2: 2.41, 3: 2.49, 5: 2.63, 15: 3.36}),
        (FAST, {1: 1.54, 2: 1.61, 3: 1.68, 5: 1.83}),
    ],
)
def test_g_break_even_by_steps(fit, expected):
    found = {k: break_even_accept_length(fit.cycle_ms(k), STEP_MS) for k in expected}
    assert found == near(expected)


def test_g_identity_gap():
    gap = identity_gap(throughput=60, cycle_ms=29.5, length=2.0)
    assert (gap.implied_accept_length, gap.gap) == near((1.77, 0.115))
    assert gap.reading == "blocks-fit"
    assert identity_gap(throughput=91.5, cycle_ms=19.5, length=1.784).implied_accept_length == near(1.784)


def test_g_gap_blocks_the_fit_of_its_pair():
    gap = identity_gap(throughput=60, cycle_ms=29.5, length=2.0).gap
    refused = fit_cycle([CyclePoint(steps=1, cycle_ms=28.169), CyclePoint(steps=2, cycle_ms=29.5, gap=gap)])
    assert refused.kind == "identity-gap"


@pytest.mark.parametrize(
    ("fit", "steps", "length", "rate", "obstacle"),
    [
        (SLOW, 2, 2.927, 0.975, "needs-rate-over-0.90"),
        (SLOW, 3, 3.015, 0.814, None),
        (SLOW, 4, 3.103, 0.759, None),
        (SLOW, 5, 3.191, 0.737, None),
        (FAST, 2, 1.950, 0.595, None),
        (FAST, 3, 2.038, 0.556, None),
    ],
)
def test_g_accept_length_for_100_tok_s(fit, steps, length, rate, obstacle):
    needed = required_accept_length(target=100, cycle_ms=fit.cycle_ms(steps), steps=steps)
    assert (needed.accept_length, needed.equal_rate) == near((length, rate))
    assert needed.obstacle == obstacle


def test_g_best_steps_of_a_short_chain():
    chain = two_position_chain()
    slow = predict(lengths_of(chain), SLOW)
    assert [p.throughput.value for p in slow] == near([56.4, 68.3, 75.2, 78.8, 80.3, 80.6, 80.0])
    choice = best_steps(slow, baseline=exact(82.5, "tok/s"))
    assert (choice.best.steps, choice.advice) == (6, "off")
    assert choice.within_noise == (5, 6, 7)
    assert choice.chosen.steps == 5
    fast = best_steps(predict(lengths_of(chain), FAST), baseline=exact(82.5, "tok/s"))
    assert (fast.best.steps, fast.best.throughput.value, fast.advice) == (5, near(115.8), "on")


@pytest.mark.parametrize(("fit", "throughput"), [(SLOW, 110.4), (FAST, 157.3)])
def test_g_best_steps_of_a_published_curve(fit, throughput):
    best = best_steps(predict(lengths_of(chain_from_accept_lengths(KIMI_CURVE)), fit)).best
    assert (best.steps, best.throughput.value) == (6, near(throughput))


@pytest.mark.parametrize(
    ("lengths", "per_token_ms", "fixed", "slope", "errors", "best"),
    [
        (
            (2.36, 2.79, 3.08, 3.32, 3.46, 3.54),
            (4.32, 4.09, 4.05, 4.13, 4.20, 4.29),
            8.20,
            0.998,
            (0.0, 1.9, 2.3, 4.0, 2.4, 0.0),
            4,
        ),
        (
            (2.10, 2.29, 2.39, 2.43, 2.45, 2.47),
            (4.37, 4.29, 4.48, 4.71, 4.94, 5.20),
            7.71,
            0.733,
            None,
            3,
        ),
    ],
)
def test_h_prediction_from_two_runs(lengths, per_token_ms, fixed, slope, errors, best):
    cycles = {k: al * ms for k, al, ms in zip(range(2, 8), lengths, per_token_ms, strict=True)}
    fit = fit_cycle([CyclePoint(steps=k, cycle_ms=cycles[k]) for k in (2, 7)], baseline_step_ms=7.07)
    assert isinstance(fit, CycleFit)
    assert (fit.fixed_ms, fit.per_step_ms) == near((fixed, slope))
    predictions = predict({k: exact(al, "tokens/cycle") for k, al in zip(cycles, lengths, strict=True)}, fit)
    off = [100 * (p.throughput.value * ms / 1000 - 1) for p, ms in zip(predictions, per_token_ms, strict=True)]
    if errors is None:
        assert max(abs(e) for e in off) <= 0.9
    else:
        assert off == pytest.approx(errors, abs=0.06)
    measured = max(zip(cycles, per_token_ms, strict=True), key=lambda pair: -pair[1])[0]
    assert best_steps(predictions).best.steps == best == measured


def test_i_marginal_rule():
    before = cycle_from_log_ms(running=2, length=2.18, throughput=81.5)
    after = cycle_from_log_ms(running=2, length=2.44, throughput=82.0)
    assert (before, after, after - before) == near((53.50, 59.51, 6.015))
    assert marginal_threshold(81.5 / 2, after - before) == near(0.245)
    assert worth_one_more(2.44 - 2.18, throughput=81.5 / 2, per_step_ms=after - before)


def test_j_experts():
    found = [active_experts(384, 8, tokens) for tokens in (1, 2, 3, 4, 16)]
    assert found == near([8, 15.8, 23.5, 31.0, 109.8])
    assert expert_traffic_ratio(256, 8, 4) == near(3.82)
    assert expert_traffic_ratio(128, 8, 60) == near(15.67)


def test_k_welch_and_paired():
    a, b = (59.2, 60.1, 60.8, 59.7, 60.4), (60.9, 61.8, 61.1, 62.2, 61.4)
    free, tied = welch(a, b), paired(a, b)
    assert isinstance(free, TTest)
    assert isinstance(tied, TTest)
    assert (free.difference, free.t, free.df) == near((1.44, 3.963, 7.80))
    assert free.p == pytest.approx(0.0044, abs=5e-5)
    assert (free.low, free.high) == near((0.598, 2.282))
    assert (tied.t, tied.df) == near((3.882, 4))
    assert tied.p == pytest.approx(0.0178, abs=5e-5)
    assert (tied.low, tied.high) == near((0.410, 2.470))


@pytest.mark.parametrize(("rho", "factor"), [(0.3, 0.538), (0.5, 0.333), (0.8, 0.111)])
def test_l_effective_n(rho, factor):
    assert effective_n(1000, rho) / 1000 == near(factor)


@pytest.mark.parametrize(("prompts", "error"), [(8, 0.108), (20, 0.068), (80, 0.034)])
def test_l_planned_error(prompts, error):
    planned = planned_standard_error(prompts=prompts, prompt_sd=0.3, cycle_variance=0.8, cycles_per_prompt=250)
    assert planned == near(error)


def test_m_tail():
    chain = Chain(marginal=(0.83, 0.60, 0.45))
    for steps, expected, measured in ((4, 3.2175, 3.24), (5, 3.471, 3.46)):
        longer = extend_chain(chain, steps)
        assert isinstance(longer, Extension)
        assert longer.tail_rate == near(0.75)
        assert longer.accept_length.value == near(expected)
        assert longer.accept_length.low <= measured <= longer.accept_length.high


@pytest.mark.parametrize(("tokens", "verify", "raw"), [(256, 127.5, 2.008), (16, 7.5, 2.133)])
def test_n_bias_of_the_reported_length(tokens, verify, raw):
    assert sglang_reported(tokens, verify) == near(raw)
    assert from_sglang_completion(tokens, verify) == pytest.approx(2.0)


class TestFirstStory:
    """A drafter at one step loses against its baseline of 90 tok/s; it was cut from 15 steps."""

    cycle = exact(28.17, "ms")
    baseline = exact(90, "tok/s")

    def bound(self, first=None, cycle=None, steps=None):
        bound = bound_longer_chain(
            first_acceptance=first or exact(0.60, "fraction"),
            cycle=cycle or self.cycle,
            steps_now=1,
            steps=steps,
            baseline=self.baseline,
        )
        assert isinstance(bound, Bound)
        return bound

    def test_one_step_never_pays(self):
        bound = bound_same_steps(steps=1, cycle=self.cycle, baseline=self.baseline)
        assert bound.break_even is not None
        assert bound.break_even.value == near(2.54)
        assert bound.accept_length.value == 2
        assert bound.payoff == "never"
        assert str(bound.throughput) == "71"
        judged = judge_claim(bound, self.baseline)
        assert isinstance(judged, Refuted)

    def test_break_even_at_fifteen_steps(self):
        assert break_even_accept_length(40.685, baseline_step_ms(90)) == near(3.66)

    def test_more_drafts_are_refuted_with_exact_figures(self):
        bound = self.bound()
        assert bound.accept_length.value == pytest.approx(2.5)
        assert str(bound.throughput) == "88.7"
        judged = judge_claim(bound, 90)
        assert isinstance(judged, Refuted)
        assert judged.margin == pytest.approx(0.0139, abs=2e-4)
        assert "figures as typed are taken as exact" in judged.assumptions

    def test_fifteen_steps_are_no_better(self):
        bound = self.bound(steps=15)
        assert bound.accept_length.value == near(2.4993)
        assert isinstance(judge_claim(bound, 90), Refuted)

    def test_measured_figures_leave_it_open(self):
        first = from_error(0.60, 0.03 / 1.96, "fraction", estimator="pooled acceptance of draft 1", n=20)
        cycle = from_error(28.17, 0.1, "ms", estimator="median of clean log intervals", n=60)
        bound = self.bound(first, cycle)
        assert str(bound.throughput) == "88.7 (82-96)"
        judged = judge_claim(bound, 90)
        assert isinstance(judged, Open)
        assert "does not exclude 90" in judged.reason


class TestSecondStory:
    """The baseline went from 89 to 82-83 tok/s, the cycle from 20 to 30 ms."""

    def test_break_even_from_both_sides(self):
        step = baseline_step_ms(82)
        assert break_even_accept_length(30, step) == near(2.46)
        assert break_even_cycle_ms(2.0, step) == near(24.4)

    @pytest.mark.parametrize("baseline_after", [82, 83])
    def test_slow_down_is_not_uniform(self, baseline_after):
        found = compare_slow_down(
            step_before=exact(1000 / 89, "ms"),
            step_after=exact(1000 / baseline_after, "ms"),
            cycle_before=exact(20, "ms"),
            cycle_after=exact(30, "ms"),
        )
        assert 1.07 <= found.baseline_factor.value <= 1.09
        assert found.cycle_factor.value == pytest.approx(1.5)
        assert found.kind == "cycle-more"


def test_training_data_two_readings():
    found = more_training_data(length_now=2.0, samples_now=37_000, samples_then=500_000)
    assert found.doublings == near(3.76)
    assert (found.by_doublings.value, found.by_doublings.low, found.by_doublings.high) == near((2.19, 2.08, 2.38))
    assert (found.by_line_low, found.by_line_high) == near((2.86, 3.07))
    assert len(found.caveats) == 3


def test_throughput_identity_of_the_first_story():
    assert throughput_tok_s(1.6, 28.169) == near(56.8)
