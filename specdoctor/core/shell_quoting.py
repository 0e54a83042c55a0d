"""Words as a shell has to be given them: quoted, with variables still to be replaced, secrets as `$NAME`."""

from __future__ import annotations

import re
import shlex

from specdoctor.core.redact import MASK

_UNSAFE = re.compile(r"[^A-Z0-9]+")
_IN_DOUBLE_QUOTES = re.compile(r'([\\"`])')


def retyped(raw: str, word: str) -> str:
    """`raw` where a shell reads it as one word, else `word` quoted so that a shell still replaces its variables."""
    if raw and not re.search(r"[\n'\"]", raw):
        return raw
    if raw and _closes(raw):
        return raw
    if "$" in word:
        return '"' + _IN_DOUBLE_QUOTES.sub(r"\\\1", word) + '"'
    if word.startswith("~/"):
        return "~/" + (shlex.quote(word[2:]) if len(word) > 2 else "")
    return shlex.quote(word)


def _closes(raw: str) -> bool:
    try:
        shlex.split(raw)
    except ValueError:
        return False
    return True


def variable(name: str, prefix: str) -> str:
    """The shell variable that stands for a masked value of a flag or environment variable."""
    words = _UNSAFE.sub("_", name.lstrip("-").upper()).strip("_")
    return words if words.startswith((f"{prefix}_", "HF_")) else f"{prefix}_{words or 'SECRET'}"


def quoted(word: str, name: str) -> str:
    """A word for the shell; a masked part becomes the variable, in double quotes."""
    if MASK not in word:
        return shlex.quote(word)
    pieces = [re.sub(r'([\\"$`])', r"\\\1", piece) for piece in word.split(MASK)]
    return '"' + f"${{{name}}}".join(pieces) + '"' if len("".join(pieces)) else f'"${name}"'
