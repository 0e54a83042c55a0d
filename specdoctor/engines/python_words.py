"""Command lines that begin with Python: the interpreter and its own options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

_WITH_VALUE = ("-X", "-W")


def is_python(word: str) -> bool:
    """Whether a program is a Python interpreter."""
    return PurePosixPath(word).name.startswith(("python", "pypy"))


def after_options(words: Sequence[str], index: int) -> int:
    """Where the interpreter's own options end that begin at `index`: at -m, a script, or past the last word."""
    while index < len(words) and words[index].startswith("-") and words[index] != "-m":
        index += 2 if words[index] in _WITH_VALUE else 1
    return index
