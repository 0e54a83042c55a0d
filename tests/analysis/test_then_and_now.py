"""Two speeds of then and now are of one launch; a baseline is one only where the words make it one."""

from __future__ import annotations

import pytest

from specdoctor.analysis.symptom import read_symptom


def _roles(text: str) -> list[tuple[float, str]]:
    return [(c.value, c.role) for c in read_symptom(text).claims if c.metric == "throughput_tok_s"]


@pytest.mark.parametrize(
    "text",
    [
        "EAGLE-3 used to give 1500 tok/s, since yesterday 750, one client",
        "EAGLE-3 was 1500 tok/s, now 750 tok/s",
        "throughput was 1500 tok/s, now 750 tok/s",
        "EAGLE-3 gave 1500 tok/s last week, 750 tok/s today",
        "1500 tok/s last week, 750 tok/s today",
        "EAGLE-3 gives 1500 tok/s no longer, 750 tok/s instead",
        "EAGLE-3 dropped from 1500 to 750 tok/s",
    ],
)
def test_then_and_now_are_both_with_speculation(text: str) -> None:
    assert _roles(text) == [(1500.0, "with speculation"), (750.0, "with speculation")]


@pytest.mark.parametrize(
    "text",
    [
        "throughput dropped to 750 tok/s from 1500 tok/s",
        "EAGLE-3 dropped to 750 tok/s, from 1500 tok/s",
        "MTP gives 750 tok/s today, 1500 tok/s last week",
        "EAGLE-3 gives 750 tok/s, before the update 1500 tok/s",
        "EAGLE-3 gives 750 tok/s instead of the 1500 tok/s of last week",
    ],
)
def test_whichever_is_told_first(text: str) -> None:
    assert _roles(text) == [(750.0, "with speculation"), (1500.0, "with speculation")]


@pytest.mark.parametrize(
    "text",
    [
        "we had 90 tok/s, now with EAGLE 56 tok/s",
        "last week 90 tok/s, today with EAGLE-3 56 tok/s",
        "90 tok/s yesterday without it, 56 tok/s today with EAGLE-3",
        "it was 90 tok/s, since we use EAGLE-3 56 tok/s",
    ],
)
def test_a_figure_of_before_speculation_is_the_baseline(text: str) -> None:
    assert _roles(text) == [(90.0, "baseline"), (56.0, "with speculation")]


def test_two_figures_of_one_time_are_two_sides_as_before() -> None:
    assert _roles("EAGLE-3 56 tok/s, 90 tok/s before we turned it on")[1] == (90.0, "baseline")
    assert _roles("only 56 tok/s with EAGLE instead of 90 tok/s")[1] == (90.0, "baseline")
