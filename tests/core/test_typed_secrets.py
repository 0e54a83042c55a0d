"""What a person types keeps no secret, whatever the words around it, and keeps what it says of speed."""

from __future__ import annotations

import time

import pytest

from specdoctor.core.redact import MASK
from specdoctor.core.typed_secrets import redact_typed, typed_secrets

SAMPLES = {
    "key=SECRET": "SECRET",
    "57 tok/s, token: xyz": "xyz",
    "Authorization=Basic c2VjcmV0": "c2VjcmV0",
    "see https://h/log?sig=abc%2Fd": "abc%2Fd",
    "our api key: h2-x": "h2-x",
    "password=12345678 and slow": "12345678",
    "AKIA1234567890ABCDEF is ours": "AKIA1234567890ABCDEF",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY slow": "wJalrXUtnFEMI",
    "we call it with key=abcd1234efgh, and it is slow": "abcd1234efgh",
    "or --api-key sk-foo": "sk-foo",
    "with a bearer xyz": "xyz",
    "Bearer: abcd1234": "abcd1234",
    "the bearer token abcd1234 works": "abcd1234",
    "token abcd1234": "abcd1234",
    "token 550e8400-e29b-41d4": "550e8400",
    "auth token is zz9": "zz9",
    "password hunter2": "hunter2",
    "the password swordfish does not help": "swordfish",
    "the password is swordfish": "swordfish",
    "with the password correct-horse": "correct-horse",
    'password "two words"': "words",
    "passphrase: correct horse battery": "battery",
    "pw=hunter2": "hunter2",
    "the api key is abcd": "abcd",
    "api key (abcd1234)": "abcd1234",
    "key `abcd1234efgh`": "abcd1234efgh",
    "key -> abcd1234efgh": "abcd1234efgh",
    "X-API-Key abcd1234": "abcd1234",
    "OPENAI_API_KEY is set to zork-y": "zork-y",
    "client secret abcd1234": "abcd1234",
    "secret hunter2": "hunter2",
    "my credentials are bob/hunter2": "hunter2",
    "ssh root:hunter2@gpu-7": "hunter2",
    "we use sk-abc1 there": "sk-abc1",
    "the api key is abcd1234; with abcd1234 it answers": "abcd1234",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2": "SflKxwRJSMeKKF2",
}


@pytest.mark.parametrize(("text", "secret"), SAMPLES.items())
def test_what_a_person_types_keeps_no_secret(text: str, secret: str) -> None:
    once = redact_typed(text)
    assert secret not in once
    assert redact_typed(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "57 tok/s with EAGLE-3, 90 tok/s without; accept length 2.0, time to first token: 3 s",
        "slower per token: 12 ms against 8 ms, num_draft_tokens=4, max_new_tokens: 512",
        "Is it right that --speculative-num-steps 5 gives topk=1? The first token: slow.",
        "the token: slow; our key: the accept length",
        "the key figures: token 5 is slow, token 4096 of Qwen3-235B-A22B too; the key is to draft less",
        "the token is accepted, the next token is garbage; token limit=4096, first-token: 300ms, inter-token: 12ms",
        "API key required; the api key is missing; password unchanged; password prompt; the secret is out",
        "bearer of bad news: SK-hynix HBM, sk-learn, pw 250W, tp:8@H100, kv key/value heads 8",
        "auth: none, auth 401 unauthorized, a session token 128k long; passphrase is correct",
    ],
)
def test_what_a_person_says_of_speed_is_kept(text: str) -> None:
    assert redact_typed(text) == text


def test_typed_text_is_read_in_linear_time() -> None:
    begun = time.process_time()
    for piece in (
        "a-key",
        " token",
        "/",
        "authorization:",
        "--api-key",
        "api_key",
        "api-key-",
        "https://",
        "x.",
        "'",
        "password ",
        "key 1a",
        "a:",
    ):
        redact_typed(piece * (10_000 // len(piece)))
    assert time.process_time() - begun < 3


def test_what_prose_names_as_a_secret_is_known_elsewhere_unless_it_is_a_word() -> None:
    assert typed_secrets("password hunter2x, api key is swordfish") == {"hunter2x"}


def test_what_follows_a_secret_stays() -> None:
    assert redact_typed("key=abcd1234. 57 tok/s (password: x), 90 without") == (
        f"key={MASK}. 57 tok/s (password: {MASK}), 90 without"
    )
