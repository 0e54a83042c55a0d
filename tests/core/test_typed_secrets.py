"""What a person types keeps no secret, whatever the words around it, and keeps what it says of speed."""

from __future__ import annotations

import random
import time

import pytest

from specdoctor.core.redact import MASK
from specdoctor.core.secret_shapes import SHAPES
from specdoctor.core.typed_secrets import redact_typed, typed_secrets
from tests.core.secret_samples import PLAIN, SECRETS


@pytest.mark.parametrize(("text", "secret"), SECRETS.items())
def test_what_a_person_types_keeps_no_secret(text: str, secret: str) -> None:
    once = redact_typed(text)
    assert secret not in once
    assert redact_typed(once) == once


@pytest.mark.parametrize(
    "text",
    [
        *PLAIN,
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
        "key=%",
        "password:",
        "密码是 ",
        "-u a:",
        "password (",
        "cookie: ",
        "the password of ",
    ):
        redact_typed(piece * (10_000 // len(piece)))
    assert time.process_time() - begun < 3


def test_what_prose_names_as_a_secret_is_known_elsewhere_unless_it_is_a_word() -> None:
    assert typed_secrets("password hunter2x, api key is swordfish") == {"hunter2x"}


def test_what_follows_a_secret_stays() -> None:
    assert redact_typed("key=abcd1234. 57 tok/s (password: x), 90 without") == (
        f"key={MASK}. 57 tok/s (password: {MASK}), 90 without"
    )


@pytest.mark.parametrize("begin", [begin for begin, _, _ in SHAPES])
def test_what_begins_as_only_secrets_do_goes(begin: str) -> None:
    rest = {"xox": "a-", "gh": "p_"}.get(begin, "") + "7AB0" * 9
    for text in (
        begin + rest[:16] if "IA" in begin else begin + rest,
        f"{begin}{rest}{'.' + rest if begin == 'eyJ' else ''}",
    ):
        assert rest[2:14] not in redact_typed(f"we use {text}, slow")
    assert redact_typed(f"x{begin}") == f"x{begin}"


NAMES = ("password", "the root passphrase", "our api key", "Passwort", "contraseña", "access token", "pwd", "密码")
LEADS = (": ", "=", " = ", "＝", "：", " is ", " was changed to ", " -> ", " of ours is ", " (new): ")
ROUND_IT = (("", ""), ("it is slow, ", ""), ("", " and 57 tok/s"), ("(", ")"), ("", ", then 12 ms"))


def test_no_value_that_is_named_survives_whatever_its_letters() -> None:
    draw = random.Random(5)
    for _ in range(400):
        value = (
            draw.choice("abcXYZ") + "".join(draw.choices("abzXY019!@#$%^&*+=;,:/~|.-_", k=draw.randint(4, 14))) + "7Z"
        )
        before, after = draw.choice(ROUND_IT)
        text = f"{before}{draw.choice(NAMES)}{draw.choice(LEADS)}{value}{after}"
        once = redact_typed(text)
        assert value not in once, text
        assert not any(value[i : i + 4] in once for i in range(len(value) - 3)), (text, once)
        assert once.endswith(after), (text, once)
        assert redact_typed(once) == once, text
