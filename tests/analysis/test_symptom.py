"""What a user types becomes claims with roles, never facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.analysis.symptom import read_symptom

CASES = [
    (
        "EAGLE-3 is slower: 56.8 tok/s with accept length 1.6, 90 tok/s without. Fixing it should bring above 90.",
        ("slow",),
        {("with speculation", 56.8), ("baseline", 90.0), ("wished", 90.0)},
    ),
    (
        "EAGLE-3 on a big MoE: 56.8 tok/s against a baseline of 90, accept length 1.6",
        ("slow",),
        {("with speculation", 56.8), ("baseline", 90.0)},
    ),
    (
        "82-83 tok/s without, 59-61 with 2 steps, 29-30 ms a cycle",
        ("slow",),
        {("with speculation", 60.0), ("baseline", 82.5)},
    ),
    ("56 tok/s with and 90 tok/s without EAGLE", ("slow",), {("with speculation", 56.0), ("baseline", 90.0)}),
    ("With 64 clients throughput stalls and requests queue", ("queueing",), set()),
    (
        "accept length 2.9 looks low, is it ok? 150 tok/s, 90 tok/s without",
        ("low-acceptance",),
        {("with speculation", 150.0), ("baseline", 90.0)},
    ),
    (
        "The ids were [2, 16, 29] and are [1, 15, 28]. We see 300 tok/s; it was 192 without speculation.",
        (),
        {("with speculation", 300.0), ("baseline", 192.0)},
    ),
    (
        "Layers 3, 31 and 59 are captured; or 2, 30, 58? We got 57 with EAGLE-3, the baseline gives 90 tok/s",
        ("slow",),
        {("with speculation", 57.0), ("baseline", 90.0)},
    ),
    ("speed is 61 tok/s; num_steps is 3 with topk 1", (), {("unknown", 61.0)}),
    ("", (), set()),
]


@pytest.mark.parametrize(
    ("text", "asked", "temperature"),
    [
        ("At temperature 0.7 the answers are garbage", True, 0.7),
        ("nothing is accepted at temperature 1, greedy is fine", True, 1.0),
        ("greedy output differs from the baseline", True, 1.0),
        ("is speculation lossless here?", True, 1.0),
        ("slow, and the GPU temperature is high", False, 1.0),
        ("57 tok/s, 90 without", False, 1.0),
    ],
)
def test_who_complains_of_the_text_is_heard(text: str, asked: bool, temperature: float) -> None:
    symptom = read_symptom(text)
    assert (symptom.asks_about_answers, symptom.temperature) == (asked, temperature)


@pytest.mark.parametrize(("text", "complaints", "speeds"), CASES)
def test_roles_and_complaints(text: str, complaints: tuple[str, ...], speeds: set[tuple[str, float]]) -> None:
    symptom = read_symptom(text)
    assert symptom.complaints == complaints
    assert {(c.role, c.value) for c in symptom.claims if c.metric == "throughput_tok_s"} == speeds


def test_other_figures_keep_their_metric() -> None:
    symptom = read_symptom("accept length 1.6, a cycle takes 28.2 ms, 64 clients, we asked for 16 draft tokens")
    assert {(c.metric, c.value) for c in symptom.claims} == {
        ("accept_length", 1.6),
        ("step_ms", 28.2),
        ("concurrency", 64.0),
        ("draft_tokens", 16.0),
    }


@pytest.mark.parametrize(
    ("text", "speeds"),
    [
        ("-5 tok/s with EAGLE-3, 1e309 tok/s without", []),
        ("1.2e2 tok/s without", [120.0]),
        ("82-83 tok/s without", [82.5]),
        ("~90 tok/s without", [90.0]),
    ],
)
def test_a_number_that_cannot_be_a_speed_is_no_figure(text: str, speeds: list[float]) -> None:
    assert [c.value for c in read_symptom(text).claims if c.metric == "throughput_tok_s"] == speeds


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert read_symptom(text).text == text


@pytest.mark.parametrize(
    ("text", "baseline"),
    [
        ("We see 131 tok/s with one client; without speculation it was 70.", 70.0),
        ("56 tok/s now, without speculation the same machine gave 90 tok/s", 90.0),
        ("131 tok/s on port 30000, 5 nodes", None),
    ],
)
def test_a_bare_number_is_a_speed_only_beside_one(text: str, baseline: float | None) -> None:
    assert read_symptom(text).figure("throughput_tok_s", "baseline") == baseline


@pytest.mark.parametrize(
    ("text", "now", "baseline"),
    [
        ("Throughput went from 90 tok/s to 57 tok/s after enabling EAGLE-3", 57.0, 90.0),
        ("1,200 tok/s with and 1,500 tok/s without", 1200.0, 1500.0),
        ("56,8 tok/s with EAGLE, 90 without", 56.8, 90.0),
        ("90 tok/s with EAGLE and 57 without", 90.0, 57.0),
        ("90 tok/s when disabled, 56 tok/s with it", 56.0, 90.0),
    ],
)
def test_figures_as_people_write_them(text: str, now: float, baseline: float) -> None:
    symptom = read_symptom(text)
    assert symptom.figure("throughput_tok_s", "with speculation") == now
    assert symptom.figure("throughput_tok_s", "baseline") == baseline


@pytest.mark.parametrize(
    ("text", "speed"),
    [
        ("EAGLE-3 bringt nichts", True),
        ("accept length is 1.6, very low", True),
        ("", True),
        ("slow: 57 tok/s with, 40 tok/s without", True),
        ("Is it all right? 131 tok/s with, 70 tok/s without", False),
        ("requests queue at 64 clients", False),
        ("it does not start", False),
    ],
)
def test_what_is_not_understood_is_a_question_about_speed(text: str, speed: bool) -> None:
    assert read_symptom(text).asks_about_speed is speed


@pytest.mark.parametrize(
    ("text", "now", "baseline"),
    [
        ("EAGLE-3 is slower than without: 457 tok/s against 565", 457.0, 565.0),
        ("slower than without: 457 tok/s instead of 565 tok/s", 457.0, 565.0),
        ("slower than without speculation: 457 tok/s vs 565 tok/s", 457.0, 565.0),
        ("Slower than plain decoding, 57.5 tok/s vs. 90.5", 57.5, 90.5),
        ("EAGLE-3 is slower than without (457 tok/s compared to about 565)", 457.0, 565.0),
        ("slower than the baseline: 457 against 565 tok/s", 457.0, 565.0),
        ("slower than without: 457 tok/s, 565 tok/s without", 457.0, 565.0),
        ("457 tok/s with EAGLE-3 against 565 without", 457.0, 565.0),
        ("565 tok/s without against 457 with EAGLE-3", 457.0, 565.0),
        ("slower than without speculation at 565 tok/s, we get 457 tok/s", 457.0, 565.0),
        ("131 tok/s with EAGLE-3 against 120 tok/s with the same prompts", 131.0, 120.0),
    ],
)
def test_words_of_a_comparison_are_of_neither_figure_alone(text: str, now: float, baseline: float) -> None:
    speeds = [(c.role, c.value) for c in read_symptom(text).claims if c.metric == "throughput_tok_s"]
    assert sorted(speeds) == [("baseline", baseline), ("with speculation", now)]


@pytest.mark.parametrize(
    "text",
    [
        "57 tok/s against 3 steps",
        "57 tok/s against v0.5.17",
        "57 tok/s with k=3 against 16 clients",
        "57 tok/s vs 2.8x",
    ],
)
def test_a_number_of_something_else_takes_no_unit_from_the_speed(text: str) -> None:
    assert [c.value for c in read_symptom(text).claims if c.metric == "throughput_tok_s"] == [57.0]


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("457 tok/s. Accept length looks fine, about 2.8", [2.8]),
        ("457 tok/s. Acceptance length looks fine. About 2.8.", [2.8]),
        ("Accept length is fine (2.8), 457 tok/s", [2.8]),
        ("accept length is low, 457 tok/s", []),
    ],
)
def test_an_accept_length_behind_a_comma_is_no_speed(text: str, lengths: list[float]) -> None:
    claims = read_symptom(text).claims
    assert [c.value for c in claims if c.metric == "accept_length"] == lengths
    assert [c.value for c in claims if c.metric == "throughput_tok_s"] == [457.0]
