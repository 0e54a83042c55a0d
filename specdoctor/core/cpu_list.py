"""Lists of CPUs or NUMA nodes as the kernel writes them: "0-3,8"."""

from __future__ import annotations


def parse_list(text: str) -> set[int]:
    """The numbers of a list. Raises ValueError for what is none."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        numbers.update(range(int(first), int(last if dash else first) + 1))
    return numbers


def readable(text: str) -> set[int]:
    """The numbers of those parts of a list that are any."""
    numbers: set[int] = set()
    for part in text.split(","):
        try:
            numbers |= parse_list(part)
        except ValueError:
            continue
    return numbers
