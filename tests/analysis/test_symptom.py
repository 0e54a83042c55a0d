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
    ("", (), set()),
]


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
