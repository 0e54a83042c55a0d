"""Properties of chains, fits and predictions that hold for all figures."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from specdoctor.analysis.acceptance import (
    Chain,
    CurvePoint,
    chain_from_accept_lengths,
    chain_from_conditional,
    chain_from_histogram,
    curve_problems,
    equal_rate,
    equal_rate_accept_length,
    kind_of_list,
    marginal_problems,
)
from specdoctor.analysis.choice import best_steps, predict, worth_one_more
from specdoctor.analysis.conversion import from_sglang_counts, from_sglang_histogram, from_sglang_rate
from specdoctor.analysis.cycle import (
    baseline_step_ms,
    break_even_accept_length,
    break_even_cycle_ms,
    cycle_from_throughput_ms,
    identity_gap,
    required_accept_length,
    speed_up,
    throughput_tok_s,
)
from specdoctor.analysis.fit import CycleFit, CyclePoint, fit_cycle
from specdoctor.analysis.interval import exact
from specdoctor.analysis.tail import Extension, extend_chain

RATE = st.floats(min_value=0.0, max_value=1.0)
RATES = st.lists(RATE, max_size=12)
HISTOGRAM = st.lists(st.integers(0, 500), min_size=1, max_size=12)
STEPS = st.integers(0, 16)
CYCLE = st.floats(min_value=1.0, max_value=500.0)


@given(RATES)
def test_marginal_list_is_always_valid(rates):
    chain = chain_from_conditional(rates)
    assert marginal_problems(chain.marginal, noise=0.0) == ()
    assert 1.0 <= chain.accept_length <= chain.steps + 1 + 1e-9


@given(st.lists(st.floats(min_value=0.01, max_value=1.0), max_size=12))
def test_conditional_and_marginal_are_inverse(rates):
    assert chain_from_conditional(rates).conditional == pytest.approx(tuple(rates))


@given(RATES)
def test_distribution_sums_to_one_and_has_the_mean(rates):
    chain = chain_from_conditional(rates)
    shares = chain.accepted_distribution
    assert math.fsum(shares) == pytest.approx(1.0)
    assert min(shares) >= 0.0
    assert math.fsum(m * p for m, p in enumerate(shares)) == pytest.approx(chain.accept_length - 1.0, abs=1e-9)
    assert 0.0 <= chain.accepted_variance <= chain.steps**2 / 4 + 1e-9


@given(HISTOGRAM, st.integers(0, 5))
def test_histogram_padding_changes_no_accept_length(histogram, zeros):
    assume(sum(histogram) > 0)
    plain = chain_from_histogram(histogram)
    padded = chain_from_histogram([*histogram, *[0] * zeros], steps=len(histogram) + 4)
    assert padded.steps == len(histogram) + 4
    assert padded.accept_length == pytest.approx(plain.accept_length)
    correct = sum(m * count for m, count in enumerate(histogram))
    assert from_sglang_histogram(histogram) == pytest.approx(from_sglang_counts(correct, sum(histogram)))


@given(HISTOGRAM)
def test_rate_and_counts_give_one_accept_length(histogram):
    assume(sum(histogram) > 0 and len(histogram) > 1)
    chain = chain_from_histogram(histogram, steps=len(histogram) - 1)
    assert from_sglang_rate(chain.draft_rate, chain.steps + 1) == pytest.approx(chain.accept_length)


@given(st.floats(min_value=0.001, max_value=1.0), st.integers(1, 16))
def test_equal_rate_round_trip(rate, steps):
    assert equal_rate(equal_rate_accept_length(rate, steps), steps) == pytest.approx(rate, abs=1e-9)


@given(RATE, STEPS)
def test_equal_rate_limits(rate, steps):
    assert 1.0 <= equal_rate_accept_length(rate, steps) <= steps + 1 + 1e-9
    assert equal_rate_accept_length(1.0, steps) == steps + 1
    assert equal_rate_accept_length(0.0, steps) == 1.0


@given(st.lists(st.floats(min_value=0.05, max_value=0.95), min_size=2, max_size=8))
def test_kind_names_the_list_it_was_made_from(rates):
    chain = chain_from_conditional(rates)
    assert kind_of_list(rates, chain.accept_length).kind in ("conditional", "either")
    assert kind_of_list(chain.marginal, chain.accept_length).kind in ("marginal", "either")


@given(st.lists(RATE, min_size=1, max_size=8), st.integers(0, 8))
def test_extension_keeps_what_was_measured(rates, further):
    chain = chain_from_conditional(rates)
    longer = extend_chain(chain, chain.steps + further)
    assert isinstance(longer, Extension)
    assert longer.chain.marginal[: chain.steps] == chain.marginal
    assert chain.accept_length <= longer.accept_length.value + 1e-9
    assert 1.0 <= longer.accept_length.low <= longer.accept_length.high <= longer.chain.steps + 1


@given(st.lists(RATE, min_size=1, max_size=10))
def test_curve_of_one_chain_has_no_problem(rates):
    chain = chain_from_conditional(rates)
    lengths = [chain.first(k).accept_length for k in range(1, chain.steps + 1)]
    assert curve_problems([CurvePoint(steps=k, accept_length=al) for k, al in enumerate(lengths, start=1)]) == ()
    assert chain_from_accept_lengths(
        [min(al, k + 1) for k, al in enumerate(lengths, start=1)]
    ).marginal == pytest.approx(chain.marginal, abs=1e-9)


@given(st.floats(min_value=1.0, max_value=8.0), CYCLE, st.floats(min_value=5.0, max_value=900.0))
def test_identities(length, cycle, baseline):
    step = baseline_step_ms(baseline)
    throughput = throughput_tok_s(length, cycle)
    assert cycle_from_throughput_ms(length, throughput) == pytest.approx(cycle)
    assert speed_up(length, cycle, step) == pytest.approx(throughput / baseline)
    assert break_even_accept_length(break_even_cycle_ms(length, step), step) == pytest.approx(length)
    assert identity_gap(throughput=throughput, cycle_ms=cycle, length=length).gap == pytest.approx(0.0, abs=1e-9)


@given(st.floats(min_value=5.0, max_value=500.0), CYCLE, st.integers(1, 15))
def test_required_length_gives_the_target(target, cycle, steps):
    needed = required_accept_length(target=target, cycle_ms=cycle, steps=steps)
    if needed.obstacle == "above-maximum":
        assert throughput_tok_s(steps + 1, cycle) < target
    elif needed.accept_length >= 1.0:
        reached = equal_rate_accept_length(needed.equal_rate, steps)
        assert throughput_tok_s(reached, cycle) == pytest.approx(target)


@given(
    st.floats(min_value=5.0, max_value=50.0),
    st.floats(min_value=0.0, max_value=5.0),
    st.lists(st.integers(1, 15), min_size=2, max_size=6, unique=True),
    st.booleans(),
)
def test_fit_recovers_a_line(fixed, slope, steps, with_variance):
    points = [
        CyclePoint(steps=k, cycle_ms=fixed + slope * k, variance=0.1 * k if with_variance else None) for k in steps
    ]
    fit = fit_cycle(points)
    if isinstance(fit, CycleFit):
        assert (fit.fixed_ms, fit.per_step_ms) == pytest.approx((fixed, slope), abs=1e-6)
        assert fit.steps == tuple(sorted(steps))
    else:
        assert fit.kind == "negative-slope"
        assert slope < 1e-9


@given(
    st.lists(st.floats(min_value=0.05, max_value=0.98), min_size=2, max_size=10),
    st.floats(min_value=2.0, max_value=40.0),
    st.floats(min_value=0.05, max_value=5.0),
)
def test_marginal_rule_finds_the_best_steps(rates, fixed, slope):
    chain = chain_from_conditional(rates)
    fit = CycleFit(fixed_ms=fixed, per_step_ms=slope, method="exact line", steps=(1, 5))
    lengths = {k: exact(chain.first(k).accept_length, "tokens/cycle") for k in range(1, chain.steps + 1)}
    predictions = predict(lengths, fit)
    steps = 1
    while steps < chain.steps and worth_one_more(
        chain.marginal[steps], throughput=predictions[steps - 1].throughput.value, per_step_ms=slope
    ):
        steps += 1
    choice = best_steps(predictions, noise=0.0)
    assert choice.best.throughput.value == pytest.approx(predictions[steps - 1].throughput.value)
    assert choice.chosen.steps <= max(choice.within_noise)


@given(RATES)
def test_chain_survives_json(rates):
    chain = chain_from_conditional(rates)
    assert Chain.model_validate_json(chain.model_dump_json()) == chain
