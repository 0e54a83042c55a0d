"""Names of the states in a target's residual stream, the same for every engine.

`embed` enters layer 0; `out(i)` leaves the zero-based layer i. An *entry* k is the place before layer k, so that
entry 0 is `embed` and entry k is `out(k-1)`; a target of L layers ends at entry L, before its last norm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

EMBED = "embed"
_OUT = re.compile(r"out\(\s*(\d{1,6})\s*\)")


def at_entry(entry: int) -> str:
    """The state before layer `entry`. Raises ValueError for a negative entry."""
    if entry < 0:
        raise ValueError(f"there is no state before layer {entry}")
    return EMBED if entry == 0 else f"out({entry - 1})"


def entry_of(state: str) -> int:
    """The entry of a state's name. Raises ValueError for any other word."""
    word = state.strip()
    if word == EMBED:
        return 0
    match = _OUT.fullmatch(word)
    if match is None:
        raise ValueError(f'"{state}" is no state; write embed, or out(i) for the output of zero-based layer i')
    return int(match[1]) + 1


def at_entries(entries: Iterable[int]) -> tuple[str, ...]:
    """Names of several states, in the order given."""
    return tuple(at_entry(entry) for entry in entries)


def in_words(states: Sequence[str]) -> str:
    """States in a sentence."""
    return ", ".join(states) or "no state"
