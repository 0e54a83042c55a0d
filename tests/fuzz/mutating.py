"""Real files, spoilt: pieces of captured ones, cut, doubled, swapped, mixed, and strewn with odd characters."""

from __future__ import annotations

import functools
import random
from pathlib import Path

DATA = Path(__file__).parent.parent / "data"
LONGEST = 2400
ODD = (
    "\x00", "\x1b[31m", "\r", "\r\n", "\t", "\u2028", "\ufeff", "\u202e", "\ud7ff", "é", "٣", "𝟘",
    "nan", "inf", "-0", "1e999",
    "99999999999999999999999", "-1", "0", "%", "{", "}", "[", "]", '"', "'", "\\", "|", ",", ";", "=", ":", "---",
    "\n\n",
    "null", "true", "[[[[", '{"a":', "(", ")", "${X}", "$(x)", "&&", "--", "..", "/", " ", "\n",
)  # fmt: skip


@functools.cache
def seeds() -> tuple[str, ...]:
    """Texts of real servers and of the tools beside them; a long one gives several parts."""
    found: list[str] = []
    for path in sorted(DATA.rglob("*")):
        if path.is_file():
            text = path.read_bytes().decode("utf-8", errors="replace")
            found += [text[at : at + LONGEST] for at in range(0, min(len(text), 12 * LONGEST), LONGEST)]
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def spoilt(seed: int) -> str:
    """A text from one number: part of a real file after up to eight mishaps."""
    source = random.Random(seed)
    text = source.choice(seeds())
    for _ in range(source.randrange(8)):
        text = _MISHAPS[source.randrange(len(_MISHAPS))](text, source)
    return text[: 2 * LONGEST]


def _span(text: str, source: random.Random) -> tuple[int, int]:
    start = source.randrange(len(text) + 1)
    return start, min(len(text), start + source.choice((1, 3, 20, 200)))


def _cut(text: str, source: random.Random) -> str:
    start, end = _span(text, source)
    return text[:start] + text[end:]


def _double(text: str, source: random.Random) -> str:
    start, end = _span(text, source)
    return text[:end] + text[start:end] * source.choice((1, 2, 9)) + text[end:]


def _strew(text: str, source: random.Random) -> str:
    at = source.randrange(len(text) + 1)
    return text[:at] + source.choice(ODD) * source.choice((1, 1, 1, 7)) + text[at:]


def _mix(text: str, source: random.Random) -> str:
    other = source.choice(seeds())
    start, end = _span(other, source)
    at = source.randrange(len(text) + 1)
    return text[:at] + other[start:end] + text[at:]


def _swap(text: str, source: random.Random) -> str:
    lines = text.split("\n")
    first, second = source.randrange(len(lines)), source.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def _digits(text: str, source: random.Random) -> str:
    at = source.randrange(len(text) + 1)
    return text[:at] + "".join(source.choice("0123456789.-eE") if c.isdigit() else c for c in text[at:])


_MISHAPS = (_cut, _double, _strew, _mix, _swap, _digits)
