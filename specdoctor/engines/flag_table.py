"""Tables of launch flags, as each engine's data file lists them: which argument a spelling means, what follows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

FlagKind = Literal["switch", "value", "list", "optional"]
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Flag:
    """One argument: its name with underscores, how many words follow, and all its spellings, the present one first.

    `off`: this spelling switches it off (`--no-...`).
    """

    key: str
    kind: FlagKind
    spellings: tuple[str, ...]
    off: bool = False


@cache
def flag_table(name: str) -> dict[str, Flag]:
    """Every spelling in a data file of this package -> its flag."""
    return {spelling: flag for flag in flags_listed(name) for spelling in flag.spellings}


def flags_listed(name: str) -> Iterator[Flag]:
    """The flags of a data file, from lines "KEY KIND SPELLING ..."."""
    kinds: dict[str, FlagKind] = {"switch": "switch", "value": "value", "list": "list", "optional": "optional"}
    for row in files("specdoctor.engines").joinpath("data", name).read_text(encoding="utf-8").splitlines():
        if not row.startswith("#"):
            key, kind, *spellings = row.split()
            yield Flag(key=key, kind=kinds[kind], spellings=tuple(spellings))


def is_flag_word(word: str) -> bool:
    """Whether `word` opens an option (a negative number does not)."""
    return word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word)
