"""The launch flags of SGLang: which argument a spelling means, and how many words it takes."""

from __future__ import annotations

from specdoctor.engines.flag_table import Flag, flag_table, is_flag_word

__all__ = ["Flag", "find_flag", "flag_for", "is_flag_word", "is_known"]


def _table() -> dict[str, Flag]:
    return flag_table("sglang_flags.txt")


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
