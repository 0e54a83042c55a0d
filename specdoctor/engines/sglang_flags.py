"""The launch flags of SGLang: which argument a spelling means, and how many words it takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

FlagKind = Literal["switch", "value", "list"]
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Flag:
    """One server argument: its name with underscores, how many words follow, and all its spellings."""

    key: str
    kind: FlagKind
    spellings: tuple[str, ...]


@cache
def _table() -> dict[str, Flag]:
    kinds: dict[str, FlagKind] = {"switch": "switch", "value": "value", "list": "list"}
    by_spelling: dict[str, Flag] = {}
    text = files("specdoctor.engines").joinpath("data/sglang_flags.txt").read_text(encoding="utf-8")
    for row in text.splitlines():
        if row.startswith("#"):
            continue
        key, kind, *spellings = row.split()
        flag = Flag(key=key, kind=kinds[kind], spellings=tuple(spellings))
        by_spelling.update(dict.fromkeys(spellings, flag))
    return by_spelling


def find_flag(spelling: str) -> Flag | None:
    """The flag that `spelling` (without value) means, abbreviations included, as argparse reads them.

    An abbreviation of several arguments is none of them: the engine refuses it.
    """
    table = _table()
    exact = table.get(spelling)
    if exact is not None or not spelling.startswith("--") or len(spelling) < 4:
        return exact
    meant = {flag.key: flag for name, flag in table.items() if name.startswith(spelling)}
    return next(iter(meant.values())) if len(meant) == 1 else None


def flag_for(key: str) -> Flag:
    """The flag of an argument name; an unknown name gets the spelling that argparse would give it."""
    spelled = "--" + key.replace("_", "-")
    flag = _table().get(spelled)
    if flag is not None and flag.key == key:
        return flag
    found = next((f for f in _table().values() if f.key == key), None)
    return found or Flag(key=key, kind="value", spellings=(spelled,))


def is_known(key: str) -> bool:
    """Whether some released version has an argument of this name."""
    return any(flag.key == key for flag in _table().values())


def is_flag_word(word: str) -> bool:
    """Whether `word` opens an option (a negative number does not)."""
    return word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word)
