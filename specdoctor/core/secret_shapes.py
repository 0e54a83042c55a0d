"""Secrets that are known by how they look, wherever they stand: the beginnings that only keys have, blocks, logins.

The one list of such beginnings. A program for the host under study cannot import it and has the same in
`remote/parts/redaction.py`; a test holds the two together.
"""

from __future__ import annotations

import re

MASK = "***"

_ANY = r"[A-Za-z0-9_-]"
_NO_WORD = r"(?=[A-Za-z]{0,80}\d)[A-Za-z0-9]"
"""At least one figure among the letters, where the beginning is also one of ordinary names."""
SHAPES: tuple[tuple[str, str, str], ...] = (
    ("sk-", _ANY + "{16,}", rf"(?:(?:proj|ant|or|svcacct|lf)-|(?=[A-Za-z_-]{{0,80}}\d)){_ANY}{{3,}}"),
    ("hf_", "(?:[A-Za-z0-9]{16,}|" + _NO_WORD + "{10,})", _NO_WORD + "{6,}"),
    ("gh", "[pousr]_[A-Za-z0-9]{10,}", "[pousr]_[A-Za-z0-9]{6,}"),
    ("xox", "[abeprs]-[A-Za-z0-9-]{6,}", "[abeprs]-[A-Za-z0-9-]{3,}"),
    *((f"{of}k_{kind}_", "[A-Za-z0-9]{6,}", "[A-Za-z0-9]{3,}") for of in "prs" for kind in ("live", "test")),
    ("github_pat_", "[A-Za-z0-9_]{6,}", "[A-Za-z0-9_]{3,}"),
    *(
        (begin, _ANY + "{6,}", _ANY + "{3,}")
        for begin in ("glpat-", "gldt-", "glrt-", "nvapi-", "dckr_pat_", "pypi-AgE")
    ),
    ("AIza", _ANY + "{30,}", _ANY + "{8,}"),
    *((begin, "[0-9A-Z]{16}", "[0-9A-Z]{8,}") for begin in ("AKIA", "ASIA")),
    ("eyJ", rf"{_ANY}{{8,}}\.{_ANY}{{8,}}(?:\.{_ANY}{{0,}})?", rf"{_ANY}{{5,}}[\w.-]*"),
    ("whsec_", "[A-Za-z0-9+/=]{6,}", "[A-Za-z0-9+/=]{3,}"),
    *(
        (begin, _NO_WORD + "{16,}", _NO_WORD + "{6,}")
        for begin in ("gsk_", "npm_", "rpa_", "r8_", "xai-", "pplx-", "jina_")
    ),
    *(
        (begin, _ANY + "{8,}", _ANY + "{3,}")
        for begin in ("tgp_v1_", "dop_v1_", "lsv2_pt_", "lsv2_sk_", "glsa_", "shpat_")
    ),
    ("hvs.", _ANY + "{16,}", _ANY + "{6,}"),
    ("ya29.", _ANY + "{16,}", _ANY + "{6,}"),
    ("AGE-SECRET-KEY-", "[0-9A-Z]{8,}", "[0-9A-Z]{3,}"),
    ("hooks.slack.com/services/", r"[\w/-]{6,}", r"[\w/-]{3,}"),
)
"""How a secret begins; what follows in a log; what follows in a sentence, where somebody may have typed a part."""


def _compiled(begin: str, rest: str) -> re.Pattern[str]:
    # The beginning stands first in the pattern, so that `re` jumps from one to the next.
    escaped = re.escape(begin)
    return re.compile(rf"{escaped}(?<![A-Za-z0-9]{escaped})(?<![A-Za-z0-9][-_]{escaped}){rest}")


_IN_LOGS = tuple((begin, _compiled(begin, rest)) for begin, rest, _ in SHAPES)
_TYPED = tuple((begin, _compiled(begin, rest)) for begin, _, rest in SHAPES)

_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----).*?"
    r"(-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_COOKIE = re.compile(
    r"(\b(?:set-)?cookies?\\?[\"']?(?:\s{0,3}[:=＝：]\s{0,3}|(?<=--cookie)\s{1,3})\\?[\"']?)(?=[\w.-]{1,80}=)([^\r\n\"'\\]+)",
    re.I,
)
"""The header with all that it carries, up to the end of the line or of the quote."""
_USER_OPTION = re.compile(
    r"(?<![\w-])((?:-u\s{0,3}|(?<=http )-a\s{1,3}|(?<=https )-a\s{1,3}|--(?:proxy-)?user[\s=]{1,3})"
    r"([\"']?)([\w.@\\+-]{1,60}):)(?!\d+(?![^\s\"']))(?!\3(?![^\s\"']))"
    r"(?![\"']?\$(?:\w|[{]))((?:(?!\2)[^\r\n]){1,200}|[^\s\"']+(?:[\"'][^\s\"',;)\]}]+)*)"
)
_PASSWORD_OPTION = re.compile(
    r"(?<!\S)((?:sshpass\s{1,3}-p|redis-cli\s[^\n|;&]{0,80}?-a\s|(?:docker|podman|helm)\s+login\s[^\n|;&]{0,80}?-p\s|"
    r"mysql(?:dump|admin)?\s[^\n|;&]{0,80}?(?<=\s)-p(?=\S))\s{0,3}[\"']?)(?!\$(?:\w|[{]))([^\s\"']+)"
)
_CONTAINER = re.compile(r"\b(?:docker|podman|nerdctl|kubectl|apptainer)\b(?![^\n]*\b(?:curl|wget|login)\b)")
_NEAR = 400


def without_blocks(text: str) -> str:
    """`text` without blocks of private keys, cookies, and the logins of commands."""
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(rf"\1{MASK}\2", text)
    if "ookie" in text or "OOKIE" in text:
        text = _COOKIE.sub(rf"\1{MASK}", text)
    if "-u" in text or "--proxy-u" in text or "http -a" in text or "https -a" in text:
        text = _USER_OPTION.sub(_masked_user, text)
    if any(command in text for command in ("sshpass", "redis-cli", "mysql", "login")):
        text = _PASSWORD_OPTION.sub(rf"\1{MASK}", text)
    return text


def without_shapes(text: str, *, typed: bool = False) -> str:
    """`text` without what begins as only secrets do; `typed`: in a person's sentence also a part of it."""
    for begin, shape in _TYPED if typed else _IN_LOGS:
        if begin in text:
            text = shape.sub(MASK, text)
    return text


def _masked_user(match: re.Match[str]) -> str:
    """The login with its password masked; user and group of a container stay."""
    start = match.start()
    before = match.string[max(0, start - _NEAR) : start].rpartition("\n")[2]
    if _CONTAINER.search(before) or match[4].startswith(MASK):
        return match[0]
    return f"{match[1]}{MASK}"
