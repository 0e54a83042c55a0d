"""The launch flags of vLLM: which argument a spelling means, and how many words it takes."""

from __future__ import annotations

from functools import cache

from specdoctor.engines.flag_table import Flag, flags_listed, is_flag_word

__all__ = ["find_flag", "is_flag_word", "is_switch", "normal_spelling", "spellings_of"]


@cache
def _table() -> dict[str, Flag]:
    found: dict[str, Flag] = {}
    for flag in flags_listed("vllm_flags.txt"):
        found.update(dict.fromkeys(flag.spellings, flag))
        if flag.kind == "switch":
            no = "--no-" + flag.spellings[0].removeprefix("--")
            found[no] = Flag(key=flag.key, kind="switch", spellings=(no,), off=True)
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
