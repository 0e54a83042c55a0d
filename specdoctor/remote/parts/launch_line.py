"""A launch line after a change: the same rules as `specdoctor.core.launch.apply_change`, held together by a test."""

import os
import re
from typing import Any, Dict, List, Sequence

NUMBER = re.compile(r"^-\d+(?:\.\d+)?(?:,.*)?$")


def opens_flag(word: str) -> bool:
    """Whether a word opens a flag, long or short; a negative number does not."""
    return len(word) > 1 and word[0] == "-" and not NUMBER.match(word)


def changed_argv(argv: Sequence[str], change: Dict[str, Any]) -> List[str]:
    """Flags of `set_flags` replaced in place or appended in sorted order, flags of `remove_flags` dropped with values.

    `--flag value`, `--flag=value` and repeated flags are all found; flags in `switches` take no value.
    """
    set_flags, gone, switches = change["set_flags"], set(change["remove_flags"]), set(change["switches"])
    first = next((place for place, word in enumerate(argv) if word.startswith("--")), len(argv))
    argv = replaced(argv[:first], change) + list(argv[first:])
    out: List[str] = []
    placed = set()
    index = 0
    while index < len(argv):
        word = argv[index]
        flag = word.split("=", 1)[0] if word.startswith("--") else word
        index += 1
        if flag not in gone and flag not in set_flags:
            out.append(word)
            continue
        if "=" not in word and flag not in switches:
            while index < len(argv) and not opens_flag(argv[index]):
                index += 1
        if flag in set_flags and flag not in placed:
            placed.add(flag)
            out.append(flag)
            out.extend(set_flags[flag])
    for flag in sorted(set(set_flags) - placed):
        out.append(flag)
        out.extend(set_flags[flag])
    return out


def replaced(words: Sequence[str], change: Dict[str, Any]) -> List[str]:
    """Words before the flags, where the change names another for one: the interpreter of another installation."""
    others: Dict[str, str] = change.get("words") or {}
    return [others.get(word, word) for word in words]


def changed_env(env: Dict[str, str], change: Dict[str, Any]) -> Dict[str, str]:
    """The environment with `remove_env` dropped and `set_env` set; order kept."""
    kept = {name: value for name, value in env.items() if name not in change["remove_env"]}
    kept.update(change["set_env"])
    return kept


def own_words(argv: Sequence[str]) -> List[str]:
    """The words of the program that is started: without its name, or without `python -m MODULE`."""
    index = 1
    if argv and os.path.basename(argv[0]).startswith("python"):
        while index < len(argv) and opens_flag(argv[index]) and argv[index] != "-m":
            index += 1
        index += 2 if list(argv[index : index + 1]) == ["-m"] else 1
    return list(argv[index:])
