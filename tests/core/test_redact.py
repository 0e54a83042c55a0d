"""Secrets go, arguments that only sound like secrets stay."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core import redact as module
from specdoctor.core import secret_shapes
from specdoctor.core.redact import MASK, redact, redact_argv, secrets_in_argv
from tests.core.secret_samples import IN_LOGS, PLAIN


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


@pytest.mark.parametrize(("text", "secret"), IN_LOGS.items())
def test_a_secret_in_any_text_is_masked(text: str, secret: str) -> None:
    assert secret not in redact(text)
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
        *PLAIN,
    ],
)
def test_ordinary_arguments_are_kept(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Authorization=Basic hunter2secret",
        "authorization: token hunter2secret",
        "https://store/x.log?se=2026&sig=hunter2secret&sp=r",
        "https://s3/x?X-Amz-Credential=hunter2secret&X-Amz-Signature=hunter2secret",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2secret\n-----END RSA PRIVATE KEY-----",
        "aws_secret_access_key=hunter2secret",
    ],
)
def test_signed_addresses_headers_and_keys_are_masked(text: str) -> None:
    assert "hunter2secret" not in redact(text)
    assert redact(redact(text)) == redact(text)


_PARTS = ("_SECRET_NAME", "_CONTAINER", "_SEPARATOR")


@given(st.text(st.sampled_from("abkeyAKIsGhpf_-.'\"{}/@&?0"), max_size=module._SHORTEST - 1))
def test_what_is_short_and_without_a_separator_has_no_shape_of_a_secret(text: str) -> None:
    patterns = {**vars(secret_shapes), **vars(module)}.items()
    shapes = [value for name, value in patterns if isinstance(value, re.Pattern) and name not in _PARTS]
    shapes += [shape for _, shape in secret_shapes._IN_LOGS]
    assert len(shapes) > 40
    assert not any(shape.search(text) for shape in shapes)


def test_a_known_secret_goes_wherever_it_stands() -> None:
    argv = ("python3", "--api-key", "tulip-77x")
    assert secrets_in_argv(argv) == ("tulip-77x",)
    assert redact("the log repeats tulip-77x here", known=secrets_in_argv(argv)) == f"the log repeats {MASK} here"


@given(st.lists(st.text(min_size=1, max_size=12), max_size=6))
def test_masked_command_lines_keep_their_number_of_words(words: list[str]) -> None:
    assert len(redact_argv(words)) == len(words)


def test_the_login_of_a_download_is_masked_word_by_word() -> None:
    assert redact_argv(["curl", "-u", "bob:hunter2", "h"]) == ("curl", "-u", f"bob:{MASK}", "h")
    assert redact_argv(["docker", "run", "-u", "app:staff"]) == ("docker", "run", "-u", "app:staff")
