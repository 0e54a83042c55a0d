"""Sentences about one or several things."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def one_or(names: Sequence[str], one: str, several: str) -> str:
    """The word that goes with as many."""
    return one if len(names) == 1 else several
