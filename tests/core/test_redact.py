"""Secrets go, arguments that only sound like secrets stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core.redact import MASK, redact, redact_argv, secrets_in_argv


@pytest.mark.parametrize(
    "text",
    [
        "--api-key hunter2secret",
        "--api-key=hunter2secret",
        "api_key='hunter2secret'",
        '{"api_key": "hunter2secret"}',
        "SGLANG_API_KEY=hunter2secret",
        "https://user:hunter2secret@host/x",
        "Authorization: Bearer hunter2secret",
        "--admin-api-key 'hunter2secret'",
        "HF_TOKEN=hunter2secret",
    ],
)
def test_secret_values_are_masked(text: str) -> None:
    assert "hunter2secret" not in redact(text)
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "--speculative-num-draft-tokens 16",
        "speculative_num_draft_tokens=2, max_total_tokens=None, api_key=None",
        "--tokenizer-path /models/x --max-total-tokens 5",
        "#token: 120, token usage: 0.00",
        '--api-key "$SGLANG_API_KEY" --port 30000',
        "--api-key $SGLANG_API_KEY",
    ],
)
def test_ordinary_arguments_are_kept(text: str) -> None:
    assert redact(text) == text


def test_a_known_secret_goes_wherever_it_stands() -> None:
    argv = ("python3", "--api-key", "tulip-77x")
    assert secrets_in_argv(argv) == ("tulip-77x",)
    assert redact("the log repeats tulip-77x here", known=secrets_in_argv(argv)) == f"the log repeats {MASK} here"


@given(st.lists(st.text(min_size=1, max_size=12), max_size=6))
def test_masked_command_lines_keep_their_number_of_words(words: list[str]) -> None:
    assert len(redact_argv(words)) == len(words)
