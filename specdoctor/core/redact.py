"""Secrets out, before anything is written or sent.

Two layers: values of secret-looking flags, environment names and URLs, and what begins as only secrets do
(`secret_shapes`), are recognised by shape; values that were once recognised are then removed wherever else they stand
(a log that repeats the launch line, a JSON body).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from specdoctor.core.named_secrets import without_named
from specdoctor.core.secret_shapes import MASK, without_blocks, without_shapes
from specdoctor.core.secret_words import NAMES_ABROAD, STATES

__all__ = ["MASK", "redact", "redact_argv", "redact_known", "secret_name", "secrets_in_argv"]

_WORDS = r"(?:api[-_]?key|admin[-_]?api[-_]?key|secret|password|passwd|credential|authorization|private[-_]?key)"
_TOKEN = r"(?:(?:hf|hub|auth|access|bearer|github|api|session|refresh|id)[-_]?token|^token$)"
_VALUE = r"\"[^\"]*\"|'[^']*'|[^\s\"',;)\]}\\]+(?:[,;)\]}]+(?![A-Za-z_][\w.-]{0,60}[=:])[^\s\"',;)\]}\\]+)*"
"""Quoted, or up to a blank or to what ends it; a comma or a semicolon ends it unless the word goes on."""
_SECRET_NAME = re.compile(rf"(?:{_WORDS}|{_TOKEN})", re.IGNORECASE)
_FLAG = re.compile(
    rf"(?<![\w-])(--(?=[\w-]*?(?:{_WORDS}|(?:hf|hub|auth|access|api)[-_]token))[\w-]++)(=|\s+)(?!-\s|[\"']?\$(?:\w|[{{]\w+[}}]))({_VALUE})",
    re.I,
)
_ENV = re.compile(
    rf"(?<!\w)(?=\w*?(?:{_WORDS}|(?:hf|hub|auth|access|api)_?token))([\w-]{{0,60}}?\w++)(=)(?!(?:None|True|False|null)\b|[\"']?\$(?:\w|[{{]\w+[}}]))({_VALUE})",
    re.I,
)
_JSON = re.compile(
    rf"(\\{{0,8}}[\"'](?=\w*?(?:{_WORDS}|(?:hf|hub|auth|access|api)_?token))[\w-]++\\{{0,8}}[\"']\s*:\s*)(\\*[\"'])((?:(?!\2)\\.|(?!\2).)*)(\2)",
    re.IGNORECASE,
)
_URL = re.compile(
    r"([a-z][a-z0-9+.-]{0,30}://)(?:[^\s/@:\"']*:[^\s/?#\"'<>]+|[^\s/@:\"']{16,})@(?=[\w.\[$-])", re.IGNORECASE
)
"""A login before the host, up to the last @; a long word alone is a token."""
_BEARER = re.compile(r"(\bBearer\s+)[A-Za-z0-9._~+/=-]{6,}")
_PROSE = re.compile(
    rf"(\b(?:{_WORDS}|token)\s*[:=]\s*)(?!Bearer\b)(?=[A-Za-z0-9._~+/-]*[A-Za-z])([A-Za-z0-9._~+/-]{{6,}})(?![\w(])",
    re.IGNORECASE,
)
"""A secret in somebody's sentence ("api_key: abc123"); numbers alone, quoted values and calls are left."""
_HEADER = re.compile(
    r"(\b(?:proxy-)?authorization(?:\s{0,5}[:=＝：]\s{0,5}[\"']?(?:(?:Basic|Bearer|Token|Digest|ApiKey|AWS4-HMAC-SHA256)\s+)?"
    r"|\s{1,5}(?:Basic|Bearer|Token|Digest|ApiKey)\s{1,5}))(?![\"']?\$(?:\w|[{]\w+[}]))(?![\[{(])([^\s\"',;]{3,})",
    re.IGNORECASE,
)
_BASIC = re.compile(
    r"(\bbasic\s{1,5})(?-i:(?=[A-Za-z0-9+/]{0,80}[a-z])(?=[A-Za-z0-9+/]{0,80}[A-Z]))(?=[A-Za-z0-9+/]{0,80}[\d=])"
    r"[A-Za-z0-9+/]{8,}={0,2}(?![\w.-])",
    re.IGNORECASE,
)
"""A login in base64."""
_QUERY = re.compile(
    r"([?&](?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token)|awsaccesskeyid|key|api[-_]?key|"
    r"(?:access[-_]?|auth[-_]?)?token|auth|secret|password|pwd)=)[^&\s\"'<>)\]}]+",
    re.IGNORECASE,
)
"""What signs an address: whoever has it may read what it leads to."""
_SEPARATOR = re.compile(r"[\s=:]")
_SHORTEST = 8
"""Each shape has a separator in it, or as many letters as this."""
_ASKING = ("curl", "wget", "http", "https")
_LOGIN_FLAGS = ("-u", "--user", "--proxy-user", "-U", "-a", "--auth")
_OF_NAMES = ("secret", "passw", "credential", "author", "bearer", "api_key", "api-key", "apikey", "private")
_OF_SHORT_NAMES = (
    *(
        "passp",
        "passc",
        "pass:",
        "pass=",
        "pwd",
        "pw:",
        "pw=",
        "api",
        "_key",
        "-key",
        "kennwort",
        "mot de passe",
        "senha",
    ),
    *("wachtwoord", "contrasena"),
)
_OF_ALL_NAMES = (*_OF_SHORT_NAMES, *NAMES_ABROAD)
_TOKEN_NAMED = re.compile(
    r"token(?:(?<=hf.token)|(?<=hub.token)|(?<=auth.token)|(?<=access.token)|(?<=api.token)|(?<=hftoken)|(?<=hubtoken)|"
    r"(?<=authtoken)|(?<=accesstoken)|(?<=apitoken)|\s*[:=]\s*(?=[a-z0-9._~+/-]{0,400}[a-z])[a-z0-9._~+/-]{6})"
)
"""The word `token` where it is an account's; logs are full of others."""


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
    # Most texts hold none of these; looking for the letters that each shape has in it costs far less than the shape.
    lower = text.lower()
    text = without_blocks(text)
    if "://" in text:
        text = _URL.sub(rf"\1{MASK}@", text)
    if "?" in text or "&" in text:
        text = _QUERY.sub(rf"\1{MASK}", text)
    if "basic" in lower:
        text = _BASIC.sub(rf"\1{MASK}", text)
    if any(letters in lower for letters in _OF_NAMES) or _TOKEN_NAMED.search(lower):
        text = _without_values(text, lower)
    elif any(letters in lower for letters in (_OF_SHORT_NAMES if lower.isascii() else _OF_ALL_NAMES)):
        text, _ = without_named(text, typed=False)
    return without_shapes(text)


def _without_values(text: str, lower: str) -> str:
    """`text`, which holds a secret's name, without what is assigned to it."""
    if "author" in lower:
        text = _HEADER.sub(rf"\1{MASK}", text)
    text, _ = without_named(text, typed=False)
    if "--" in text:
        text = _FLAG.sub(rf"\1\2{MASK}", text)
    if "=" in text:
        text = _ENV.sub(rf"\1\2{MASK}", text)
    if ":" in text and ('"' in text or "'" in text):
        text = _JSON.sub(rf"\1\2{MASK}\4", text)
    if "earer" in text:
        text = _BEARER.sub(rf"\1{MASK}", text)
    return _PROSE.sub(_masked_prose, text) if "=" in text or ":" in text else text


def _masked_prose(match: re.Match[str]) -> str:
    return match[0] if match[2].lower() in STATES else f"{match[1]}{MASK}"


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
    mask_next = login_next = False
    asks = any(word.rpartition("/")[2] in _ASKING for word in words)
    for word in words:
        flag, eq, _ = word.partition("=")
        if mask_next:
            out.append(MASK)
            mask_next = False
        elif login_next and ":" in word:
            out.append(f"{word.partition(':')[0]}:{MASK}")
        elif word.startswith("-") and secret_name(flag):
            out.append(f"{flag}={MASK}" if eq else word)
            mask_next = not eq
        else:
            out.append(_URL.sub(rf"\1{MASK}@", without_shapes(without_blocks(word))))
        login_next = asks and word in _LOGIN_FLAGS
    return tuple(out)
