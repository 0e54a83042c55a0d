"""Pooled accept length and conditional acceptance over requests."""

from __future__ import annotations

import random

import pytest
from pydantic import ValidationError

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.pooling import (
    RequestCounts,
    pooled_accept_length,
    pooled_chain,
    pooled_conditional,
    request_from_histogram,
)

LIVE = ([10, 3, 4, 41], [22, 8, 14, 28], [9, 3, 3, 6])
"""Histograms of three requests to a live SGLang 0.5.17 with 3 draft steps."""


def requests(*histograms, prompts=None):
    names = prompts or [""] * len(histograms)
    return [request_from_histogram(h, prompt=p) for h, p in zip(histograms, names, strict=True)]


def test_pooled_over_tokens_not_over_requests():
    found = pooled_accept_length(requests(*LIVE), steps=3)
    assert found.value == pytest.approx(1 + (134 + 120 + 27) / (58 + 72 + 21))
    assert found.low < found.value < found.high <= 4.0
    assert (found.n, found.unit) == (3, "tokens/cycle")
    assert "bootstrap over 3 prompts (2000 resamples)" in found.estimator


def test_first_position_and_chain():
    pooled = requests(*LIVE)
    chain = pooled_chain(pooled, steps=5)
    assert chain.steps == 5
    assert chain.accept_length == pytest.approx(pooled_accept_length(pooled, steps=5).value)
    for position in (1, 2, 3):
        rate = pooled_conditional(pooled, position)
        assert rate.value == pytest.approx(chain.conditional[position - 1])
        assert 0.0 <= rate.low <= rate.value <= rate.high <= 1.0


def test_position_that_no_cycle_reached():
    assert pooled_conditional(requests([9, 3]), 4) is None
    assert pooled_conditional([], 1) is None


def test_short_histograms_count_as_misses():
    assert pooled_conditional(requests([9, 3], [0, 0, 6]), 2).value == pytest.approx(6 / 9)


def test_one_prompt_gives_all_that_is_possible():
    found = pooled_accept_length(requests(LIVE[0]), steps=3)
    assert (found.low, found.high, found.n) == (1.0, 4.0, 1)
    assert "one prompt" in found.estimator
    assert pooled_accept_length(requests(LIVE[0])) is None
    rate = pooled_conditional(requests(LIVE[0]), 1)
    assert (rate.low, rate.high) == (0.0, 1.0)


def test_repeats_of_a_prompt_are_one_unit():
    repeated = pooled_accept_length(requests(*LIVE, prompts=["a", "a", "b"]), steps=3)
    assert repeated.n == 2
    same = pooled_accept_length(requests(*LIVE, prompts=["a", "a", "a"]), steps=3)
    assert (same.n, same.low, same.high) == (1, 1.0, 4.0)


def test_nothing_counted():
    assert pooled_accept_length([], steps=3) is None
    assert pooled_accept_length([RequestCounts(forwards=0, accepted_drafts=0)], steps=3) is None
    assert pooled_chain([], steps=3) is None


def test_more_than_the_steps_can_give():
    with pytest.raises(FigureError, match="exceeds 3"):
        pooled_accept_length(requests([0, 0, 0, 5]), steps=2)
    with pytest.raises(FigureError, match="only 2 draft steps"):
        pooled_chain(requests([0, 0, 0, 5]), steps=2)


@pytest.mark.parametrize(
    "fields",
    [
        {"forwards": 5, "accepted_drafts": 3, "histogram": (2, 1)},
        {"forwards": 3, "accepted_drafts": 9, "histogram": (2, 1)},
        {"forwards": -1, "accepted_drafts": 0},
    ],
)
def test_counts_that_contradict(fields):
    with pytest.raises(ValidationError):
        RequestCounts(**fields)


def test_interval_covers_about_as_often_as_it_says():
    source = random.Random(5)
    hits = 0
    for trial in range(40):
        sample = []
        for _ in range(12):
            rate = min(0.95, max(0.05, source.gauss(0.6, 0.12)))
            accepted = sum(source.random() < rate for _ in range(60))
            sample.append(RequestCounts(forwards=60, accepted_drafts=accepted))
        found = pooled_accept_length(sample, steps=1, resamples=200, seed=trial)
        hits += found.low <= 1.6 <= found.high
    assert hits >= 34
