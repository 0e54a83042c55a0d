"""Secrets out, before anything is written or sent.

Two layers: values of secret-looking flags, environment names and URLs are recognised by shape; values that were once
recognised are then removed wherever else they stand (a log that repeats the launch line, a JSON body).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

MASK = "***"
_WORDS = r"(?:api[-_]?key|admin[-_]?api[-_]?key|secret|password|passwd|credential|authorization|private[-_]?key)"
_TOKEN = r"(?:(?:hf|hub|auth|access|bearer|github|api|session|refresh|id)[-_]?token|^token$)"
_SECRET_NAME = re.compile(rf"(?:{_WORDS}|{_TOKEN})", re.IGNORECASE)
_FLAG = re.compile(
    rf"(?<![\w-])(--(?=[\w-]*?(?:{_WORDS}|(?:hf|hub|auth|access|api)[-_]token))[\w-]++)(=|\s+)(?!-\s|[\"']?\$(?:\w|[{{]\w+[}}]))(\"[^\"]*\"|'[^']*'|[^\s\"',;)\]}}\\]+)",
    re.I,
)
_ENV = re.compile(
    rf"(?<!\w)(?=\w*?(?:{_WORDS}|(?:hf|hub|auth|access|api)_?token))([\w-]{{0,60}}?\w++)(=)(?!(?:None|True|False|null)\b|[\"']?\$(?:\w|[{{]\w+[}}]))(\"[^\"]*\"|'[^']*'|[^\s\"',;)\]}}\\]+)",
    re.I,
)
_JSON = re.compile(
    rf"(\\{{0,8}}[\"'](?=\w*?(?:{_WORDS}|(?:hf|hub|auth|access|api)_?token))[\w-]++\\{{0,8}}[\"']\s*:\s*)(\\*[\"'])((?:(?!\2).)*)(\2)",
    re.IGNORECASE,
)
_URL = re.compile(r"([a-z][a-z0-9+.-]{0,30}://)[^\s/@:]+:[^\s/@]+@", re.IGNORECASE)
_BEARER = re.compile(r"(\bBearer\s+)[A-Za-z0-9._~+/=-]{6,}")
_PROSE = re.compile(
    rf"(\b(?:{_WORDS}|token)\s*[:=]\s*)(?!Bearer\b)(?=[A-Za-z0-9._~+/-]*[A-Za-z])([A-Za-z0-9._~+/-]{{6,}})(?![\w(])",
    re.IGNORECASE,
)
"""A secret in somebody's sentence ("api_key: abc123"); numbers alone, quoted values and calls are left."""
_HEADER = re.compile(
    r"(\b(?:proxy-)?authorization\s*[:=]\s*[\"']?(?:(?:Basic|Bearer|Token|Digest|ApiKey|AWS4-HMAC-SHA256)\s+)?)"
    r"(?![\"']?\$(?:\w|[{]\w+[}]))(?![\[{(])([^\s\"',;]{3,})",
    re.IGNORECASE,
)
_QUERY = re.compile(
    r"([?&](?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token)|awsaccesskeyid|key|api[-_]?key|"
    r"(?:access[-_]?|auth[-_]?)?token|auth|secret|password|pwd)=)[^&\s\"'<>)\]}]+",
    re.IGNORECASE,
)
"""What signs an address: whoever has it may read what it leads to."""
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_KNOWN_SHAPE = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|"
    r"glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}|A(?:KI|SI)A[0-9A-Z]{16}|"
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})\b"
)
_SEPARATOR = re.compile(r"[\s=:]")
_SHORTEST = 12
"""Each shape above has a separator in it, or as many letters as this."""


@lru_cache(maxsize=4096)
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
    if len(text) < _SHORTEST and _SEPARATOR.search(text) is None:
        return text
    if "PRIVATE KEY-----" in text:
        text = _PRIVATE_KEY.sub(rf"\1{MASK}\2", text)
    # Most texts hold none of these; looking for the letters that each shape has in it costs far less than the shape.
    assigned = "=" in text or ":" in text
    if assigned and "author" in text.lower():
        text = _HEADER.sub(rf"\1{MASK}", text)
    if "?" in text or "&" in text:
        text = _QUERY.sub(rf"\1{MASK}", text)
    if "--" in text:
        text = _FLAG.sub(rf"\1\2{MASK}", text)
    if "=" in text:
        text = _ENV.sub(rf"\1\2{MASK}", text)
    if ":" in text and ('"' in text or "'" in text):
        text = _JSON.sub(rf"\1\2{MASK}\4", text)
    if "://" in text:
        text = _URL.sub(rf"\1{MASK}@", text)
    if "Bearer" in text:
        text = _BEARER.sub(rf"\1{MASK}", text)
    if assigned:
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
