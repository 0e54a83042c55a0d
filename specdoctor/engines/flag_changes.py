"""Changes of single flags of a launch line, for engines whose flags have one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from specdoctor.core.launch import LaunchChange
from specdoctor.engines.flag_table import Flag

FindFlag = Callable[[str], Flag | None]


def switches_among(spellings: Iterable[str], find_flag: FindFlag) -> tuple[str, ...]:
    """Those of these words that take no value."""
    found = {word: find_flag(word) for word in spellings}
    return tuple(sorted(word for word, flag in found.items() if flag is not None and flag.kind == "switch"))


def flags_changed(
    find_flag: FindFlag, *, label: str, set_flags: dict[str, tuple[str, ...]], remove_flags: tuple[str, ...]
) -> LaunchChange:
    """A change of flags; other spellings of a flag that is set or removed go too, so that none of them stays behind."""
    aliases: set[str] = set()
    for word in (*set_flags, *remove_flags):
        flag = find_flag(word)
        if flag is not None:
            aliases.update(flag.spellings)
    removed = (aliases | set(remove_flags)) - set(set_flags)
    return LaunchChange(
        label=label,
        set_flags=dict(set_flags),
        remove_flags=tuple(sorted(removed)),
        switches=switches_among({*removed, *set_flags}, find_flag),
    )
