"""Signs of noise and of loops, on what engines really answered: eight prompts of code, 64 tokens each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specdoctor.analysis.text_signs import FEWEST_BYTES, byte_entropy, divergence, odd_share, signs

GIVEN: dict[str, list[str]] = json.loads(
    (Path(__file__).parents[1] / "data" / "answers-of-engines.json").read_text(encoding="utf-8")
)


def test_an_engine_that_loses_the_text_when_it_samples_is_seen() -> None:
    lost, sound = GIVEN["vllm-0.32.0 eagle3 temperature 1"], GIVEN["vllm-0.32.0 temperature 1"]
    assert byte_entropy(lost) == pytest.approx(4.68, abs=0.01)
    assert byte_entropy(sound) == pytest.approx(4.30, abs=0.01)
    assert divergence(lost, sound) > divergence(sound[::2], sound[1::2])
    assert len(signs(lost, sound)) >= 3


@pytest.mark.parametrize(
    ("texts", "like"),
    [
        ("llamacpp-11434 eagle3 temperature 1", "llamacpp-11434"),
        ("vllm-0.32.0 eagle3", "vllm-0.32.0"),
        ("vllm-0.32.0 temperature 1", "vllm-0.32.0"),
        ("vllm-0.32.0", "llamacpp-11434"),
    ],
)
def test_sound_answers_are_like_each_other(texts: str, like: str) -> None:
    assert signs(GIVEN[texts], GIVEN[like]) == ()


def test_a_loop_is_told_from_text() -> None:
    sound = GIVEN["vllm-0.32.0"]
    looping = ["and so on " * 20 for _ in sound]
    assert any("repeats itself" in sign for sign in signs(looping, sound))


def test_too_little_text_says_nothing() -> None:
    assert signs(["\x01" * 10], ["a" * FEWEST_BYTES]) == ()


def test_a_character_that_is_cut_at_the_end_of_an_answer_is_no_sign() -> None:
    assert odd_share(["caf\ufffd", "tea"]) == 0.0
    assert odd_share(["ca\ufffdf", "tea\n"]) == pytest.approx(1 / 8)
