"""Secrets out, before anything is written or sent.

Two layers: values of secret-looking flags, environment names and URLs are recognised by shape; values that were once
recognised are then removed wherever else they stand (a log that repeats the launch line, a JSON body).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"
_WORDS = r"(?:api[-_]?key|admin[-_]?api[-_]?key|secret|password|passwd|credential|authorization|private[-_]?key)"
_TOKEN = r"(?:(?:hf|hub|auth|access|bearer|github|api|session|refresh|id)[-_]?token|^token$)"
_SECRET_NAME = re.compile(rf"(?:{_WORDS}|{_TOKEN})", re.IGNORECASE)
_FLAG = re.compile(
    rf"(--[\w-]*(?:{_WORDS}|(?:hf|hub|auth|access|api)[-_]token)[\w-]*)(=|\s+)(?![\"']?\$\w)(\"[^\"]*\"|'[^']*'|[^\s\"',;)\]}}\\]+)",
    re.I,
)
_ENV = re.compile(
    rf"\b(\w*(?:{_WORDS}|(?:hf|hub|auth|access|api)_?token)\w*)(=)(?!(?:None|True|False|null)\b|[\"']?\$\w)(\"[^\"]*\"|'[^']*'|[^\s\"',;)\]}}\\]+)",
    re.I,
)
_JSON = re.compile(
    rf"(\\*[\"']\w*(?:{_WORDS}|(?:hf|hub|auth|access|api)_?token)\w*\\*[\"']\s*:\s*)(\\*[\"'])((?:(?!\2).)*)(\2)",
    re.IGNORECASE,
)
_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@:]+:[^\s/@]+@", re.IGNORECASE)
_BEARER = re.compile(r"(\bBearer\s+)[A-Za-z0-9._~+/=-]{6,}")
_PROSE = re.compile(
    rf"(\b(?:{_WORDS}|token)\s*[:=]\s*)(?!Bearer\b)(?=[^\s\"',;]*[A-Za-z])([A-Za-z0-9._~+/-]{{6,}})(?![\w(])",
    re.IGNORECASE,
)
"""A secret in somebody's sentence ("api_key: abc123"); numbers alone, quoted values and calls are left."""
_KNOWN_SHAPE = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16})\b"
)


def secret_name(name: str) -> bool:
    """Whether a flag or variable of this name holds a secret (`--api-key` yes, `--speculative-num-draft-tokens` no)."""
    return bool(_SECRET_NAME.search(name.lstrip("-")))


def secrets_in_argv(argv: Iterable[str]) -> tuple[str, ...]:
    """The secret values that a command line carries, so that they can be removed elsewhere too."""
    words = list(argv)
    found: list[str] = []
    for index, word in enumerate(words):
        flag, _, value = word.partition("=")
        if word.startswith("-") and secret_name(flag):
            if value:
                found.append(value)
            elif index + 1 < len(words):
                found.append(words[index + 1])
    return tuple(v for v in found if v and v != MASK)


def redact(text: str, *, known: Iterable[str] = ()) -> str:
    """`text` without secrets: known values first, then by shape. Idempotent."""
    text = redact_known(text, known)
    text = _FLAG.sub(rf"\1\2{MASK}", text)
    text = _ENV.sub(rf"\1\2{MASK}", text)
    text = _JSON.sub(rf"\1\2{MASK}\4", text)
    text = _URL.sub(rf"\1{MASK}@", text)
    text = _BEARER.sub(rf"\1{MASK}", text)
    text = _PROSE.sub(rf"\1{MASK}", text)
    return _KNOWN_SHAPE.sub(MASK, text)


def redact_known(text: str, known: Iterable[str]) -> str:
    """`text` without these values."""
    for value in sorted(set(known), key=len, reverse=True):
        if len(value) >= 4:
            text = text.replace(value, MASK)
    return text


def redact_argv(argv: Iterable[str]) -> tuple[str, ...]:
    """A command line with the values of secret flags masked, each word kept a word."""
    words = list(argv)
    out: list[str] = []
    mask_next = False
    for word in words:
        flag, eq, _ = word.partition("=")
        if mask_next:
            out.append(MASK)
            mask_next = False
        elif word.startswith("-") and secret_name(flag):
            out.append(f"{flag}={MASK}" if eq else word)
            mask_next = not eq
        else:
            out.append(_KNOWN_SHAPE.sub(MASK, _URL.sub(rf"\1{MASK}@", word)))
    return tuple(out)
