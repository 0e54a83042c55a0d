"""The launch flags of vLLM: which argument a spelling means, and how many words it takes."""

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
    """One argument by its name with underscores. `off`: this spelling switches it off (`--no-...`)."""

    key: str
    kind: FlagKind
    spellings: tuple[str, ...]
    off: bool = False


@cache
def _table() -> dict[str, Flag]:
    kinds: dict[str, FlagKind] = {"switch": "switch", "value": "value", "list": "list"}
    found: dict[str, Flag] = {}
    text = files("specdoctor.engines").joinpath("data/vllm_flags.txt").read_text(encoding="utf-8")
    for row in text.splitlines():
        if row.startswith("#"):
            continue
        key, kind, *spellings = row.split()
        flag = Flag(key=key, kind=kinds[kind], spellings=tuple(spellings))
        found.update(dict.fromkeys(spellings, flag))
        if kind == "switch":
            no = "--no-" + spellings[0].removeprefix("--")
            found[no] = Flag(key=key, kind="switch", spellings=(no,), off=True)
    return found


def normal_spelling(word: str) -> str:
    """A flag as vLLM reads it: underscores of the name are dashes, what follows a dot is left as it is."""
    if not word.startswith("--"):
        return word
    name, dot, rest = word.partition(".")
    return name.replace("_", "-") + dot + rest


def find_flag(spelling: str) -> Flag:
    """The flag that `spelling` (without value and dotted part) means; an unknown one takes a value."""
    normal = normal_spelling(spelling)
    found = _table().get(normal)
    return found or Flag(key=normal.lstrip("-").replace("-", "_"), kind="value", spellings=(normal,))


def spellings_of(key: str) -> tuple[str, ...]:
    """Every word that sets an argument, the usual one first."""
    words = [word for word, flag in _table().items() if flag.key == key]
    return tuple(words) or ("--" + key.replace("_", "-"),)


def is_switch(spelling: str) -> bool:
    """Whether a flag takes no value."""
    return find_flag(spelling).kind == "switch"


def is_flag_word(word: str) -> bool:
    """Whether `word` opens an option (a negative number does not)."""
    return word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word)
