"""The masking rules by themselves: the remote module is loaded from its source, as its users do."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core.redact import redact
from specdoctor.core.secret_shapes import SHAPES
from tests.remote.workplace import loaded

RULES: SimpleNamespace = loaded("parts.redaction")


@pytest.mark.parametrize(
    "name",
    [
        "--api-key", "--api_key", "--admin-api-key", "--hf-token", "--token", "--auth-token", "--key", "--access-key",
        "--ssl-keyfile-password", "--client-secret", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "PGPASSWORD_PASSWORD", "apiKey", "--apikey", "SGLANG_API_KEYS",
        "--private-key", "DB_PASSWD", "--passphrase",
    ],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert RULES.secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "--speculative-num-draft-tokens", "--max-total-tokens", "--max-prefill-tokens", "--chunked-prefill-size",
        "--tokenizer-path", "--tokenizer-mode", "--speculative-token-map", "--ssl-keyfile", "--api-key-file",
        "--think-end-token", "TOKENIZERS_PARALLELISM", "--skip-tokenizer-init", "--kv-cache-dtype", "--cache-type-k",
        "mask_token_id", "eos_token", "SSH_AUTH_SOCK", "--enable-tokenizer-batch-encode", "num_tokens_per_req",
        "--detokenizer-worker-num", "PWD", "--model-path",
    ],
)  # fmt: skip
def test_names_of_other_things(name: str) -> None:
    assert not RULES.secret_name(name)


@pytest.mark.parametrize(
    ("argv", "masked"),
    [
        (["s", "--api-key", "v"], ["s", "--api-key", "***"]),
        (["s", "--api-key=v=w", "--port", "1"], ["s", "--api-key=***", "--port", "1"]),
        (["s", "--api-key", "one", "two", "--port", "1"], ["s", "--api-key", "***", "***", "--port", "1"]),
        (["s", "--hf-token", "one", "/models/a"], ["s", "--hf-token", "***", "/models/a"]),
        (["s", "--url", "http://u:pw@h/x"], ["s", "--url", "http://***@h/x"]),
        (["env", "HF_TOKEN=abc", "python"], ["env", "HF_TOKEN=***", "python"]),
        (["s", '--json={"api_key": "abc", "n": 1}'], ["s", '--json={"api_key": "***", "n": 1}']),
        (["s", "--api-key"], ["s", "--api-key"]),
        (["s", "--api-key", "--port", "1"], ["s", "--api-key", "--port", "1"]),
        (["s", "--max-total-tokens", "65536"], ["s", "--max-total-tokens", "65536"]),
    ],
)
def test_command_lines(argv: list[str], masked: list[str]) -> None:
    assert RULES.mask_argv(argv, set()) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("server_args=ServerArgs(api_key='abc', port=1)", "server_args=ServerArgs(api_key='***', port=1)"),
        ("{'api_key': None, 'hf_token': \"x\"}", "{'api_key': None, 'hf_token': \"***\"}"),
        (
            "{\"launch_command\": \"sglang serve --api-key abc --port 1\"}",
            "{\"launch_command\": \"sglang serve --api-key *** --port 1\"}",
        ),
        ("api-key: abc\nport: 1\n", "api-key: ***\nport: 1\n"),
        ("['--api-key', 'abc', '--port']", "['--api-key', '***', '--port']"),
        ("Authorization: Bearer abcd.efgh", "Authorization: Bearer ***"),
        ("pip install https://user:pw@host/simple", "pip install https://***@host/simple"),
        ("logged in with hf_AbCdEfGhIjKlMnOpQr", "logged in with ***"),
        ("Decode batch, #running-req: 1, #token: 120, token usage: 0.00", None),
        ("Prefill batch, #new-seq: 1, #new-token: 37, #cached-token: 0, #pending-token: 12", None),
        ("max_total_num_tokens=812345, eos_token='</s>', num_draft_tokens=4", None),
        ("KeyError: 'model.layers.0'; key='lm_head.weight'", None),
        ("http://127.0.0.1:30000/server_info", None),
    ],
)  # fmt: skip
def test_running_text(text: str, masked: str | None) -> None:
    assert RULES.mask_text(text, ()) == (text if masked is None else masked)
    assert RULES.mask_text(RULES.mask_text(text, ()), ()) == RULES.mask_text(text, ())


@pytest.mark.parametrize("begin", [begin for begin, _, _ in SHAPES])
def test_what_begins_as_only_secrets_do_goes_here_and_there(begin: str) -> None:
    rest = "7AB0" * 4 if begin in ("AKIA", "ASIA") else {"xox": "a-", "gh": "p_"}.get(begin, "") + "7AB0" * 9
    text = f"we use {begin}{rest}{'.' + rest if begin == 'eyJ' else ''} there"
    assert RULES.mask_text(text, ()) == redact(text) == "we use *** there"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("+ curl -sS -u bob:hunter2 https://h", "hunter2"),
        ("> Cookie: session=abc; csrf=zork", "zork"),
        ("-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----", "hunter2"),
    ],
)
def test_logins_cookies_and_blocks_go_here_and_there(text: str, secret: str) -> None:
    assert secret not in RULES.mask_text(text, ())
    assert secret not in redact(text)
    assert RULES.mask_argv(["curl", "--user", "bob:hunter2"], set()) == ["curl", "--user", "bob:***"]


def test_a_value_once_seen_is_masked_wherever_it_stands() -> None:
    secrets: set[str] = set()
    RULES.mask_argv(["s", "--api-key", 'a"b/c1234'], secrets)
    known = RULES.spellings(secrets)
    for text in ('x a"b/c1234 y', 'x a\\"b/c1234 y', "x a%22b%2Fc1234 y"):
        assert RULES.mask_text(text, known) == "x *** y"


@pytest.mark.parametrize("word", ["sglang", "none", "EMPTY", "1234", "", "abc"])
def test_a_common_word_as_key_does_not_blank_out_the_log(word: str) -> None:
    assert RULES.spellings({word}) == ()


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="*"), min_size=8))
def test_no_secret_of_a_flag_survives_in_any_form(secret: str) -> None:
    secrets: set[str] = set()
    for argv in (["s", "--api-key=" + secret], ["s", "--hf-token", secret]):
        masked = RULES.mask_argv(argv, secrets)
        if not (argv[-1] == secret and secret.startswith("-")):
            assert secret not in " ".join(masked)
    if secret in secrets:
        assert secret not in RULES.mask_text(f"key {secret} end", RULES.spellings(secrets))


def test_is_fast_on_a_long_log() -> None:
    line = "[2026-11-29 18:43:33] Decode batch, #running-req: 1, #token: 120, token usage: 0.00, accept len: 2.91\n"
    started = time.process_time()
    assert RULES.mask_text(line * 20_000, ("k3y-value",)) == line * 20_000
    assert time.process_time() - started < 5
