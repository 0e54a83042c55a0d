"""The target of the live tests, calculated here, says what engines made it say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.live.target_states import byte_letters, encoded, forward
from tests.live.tiny_models import STORED, load

SAID = json.loads((Path(__file__).parents[1] / "data" / "answers-of-engines.json").read_text(encoding="utf-8"))


def test_text_is_split_into_tokens_and_put_together_again() -> None:
    tokenizer = load("tiny-target").tokenizer
    letters = {letter: byte for byte, letter in byte_letters().items()}
    words = {number: text for text, number in tokenizer["model"]["vocab"].items()}
    text = "def __init__(self):\n    return 'caf\u00e9'\n"
    ids = encoded(text, tokenizer)
    assert bytes(letters[c] for number in ids for c in words[number]).decode() == text
    assert len(ids) < len(text)


@pytest.mark.slow
def test_it_goes_on_as_both_engines_did() -> None:
    target = load("tiny-target")
    letters = {letter: byte for byte, letter in byte_letters().items()}
    words = {number: text for text, number in target.tokenizer["model"]["vocab"].items()}
    lines = (STORED / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    tokens = encoded(json.loads(lines[0])["prompt"], target.tokenizer)
    begun = len(tokens)
    for _ in range(24):
        tokens.append(int(forward(target, np.asarray([tokens]))[0][0, -1]))
    said = bytes(letters[c] for number in tokens[begun:] for c in words[number]).decode()
    assert SAID["vllm-0.32.0"][0].startswith(said)
    assert SAID["llamacpp-11434"][0].startswith(said)
