"""Secrets out of a sentence that a person typed: besides what `redact` knows, whatever is named as a secret.

`password ...`, `the api key is ...`, `bearer ...`, `... is the password` (`named_secrets`), `user:...@host`, and also
parts of what begins as only secrets do (`secret_shapes`).
"""

from __future__ import annotations

import re

from specdoctor.core.named_secrets import without_named
from specdoctor.core.redact import redact, redact_known
from specdoctor.core.secret_shapes import MASK, without_blocks, without_shapes

_LOGIN = re.compile(
    r"(?<![\w:/.@-])([\w.-]{1,40}:)(?!/)((?=[^\s@]{0,80}[A-Za-z]|[^\s@]{4})\S{1,120})@(?=[\w.-])(?!sha256:)"
)
_URL_LOGIN = re.compile(r"(?<=://)([^\s/:@]{0,60}:)(?!\d{1,5}(?![^\s/?#]))(\S{1,120})@(?=[\w.\[-])")
"""With what an address may not have in it, and a person types all the same."""
_URL_TOKEN = re.compile(r"(https?://)[^\s/:@?#]{4,120}@(?=[\w.\[-])", re.IGNORECASE)
_SECRET_KEY = re.compile(
    r"(?<![A-Za-z0-9/+=_.-])(?=[A-Za-z0-9/+]{0,40}[a-z])(?=[A-Za-z0-9/+]{0,40}[A-Z])(?=[A-Za-z0-9/+]{0,40}\d)"
    r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])"
)
"""Forty letters of base64 that stand alone, as the secret half of an AWS key."""
_WORD = re.compile(r"\S+")
_LETTERS_AND_FIGURES = re.compile(r"(?=.{0,200}\d)(?=.{0,200}[A-Za-z])", re.DOTALL)
_LEAST_REPEATED = 6
"""A value that is shorter, or without letters and figures, may be a word: masked where it is named, nowhere else."""


def redact_typed(text: str) -> str:
    """A sentence that a person typed, without what may be a secret in it. Idempotent."""
    text, found = without_named(without_blocks(text))
    text = _without_logins(redact_known(text, _telling(found)))
    return _SECRET_KEY.sub(MASK, redact(without_shapes(text, typed=True)))


def typed_secrets(text: str) -> frozenset[str]:
    """The values that prose names as secrets, to be masked wherever else they stand."""
    return _telling(without_named(text)[1])


def _telling(found: set[str]) -> frozenset[str]:
    return frozenset(value for value in found if len(value) >= _LEAST_REPEATED and _LETTERS_AND_FIGURES.match(value))


def _without_logins(text: str) -> str:
    """`user:secret@host`, in the words that have an @ and a colon."""
    return _WORD.sub(_without_login, text) if "@" in text and ":" in text else text


def _without_login(match: re.Match[str]) -> str:
    word = match[0]
    if "@" not in word or ":" not in word:
        return word
    word = _URL_TOKEN.sub(rf"\1{MASK}@", word)
    return _LOGIN.sub(rf"\1{MASK}@", _URL_LOGIN.sub(rf"\1{MASK}@", word))
