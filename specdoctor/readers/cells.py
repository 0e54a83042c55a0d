"""Numbers as people write them in tables: units, thousands, decimal commas, ranges, percent."""

from __future__ import annotations

import re
from typing import NamedTuple

_MARKUP = re.compile(r"[*`_~]{1,3}|<[^<>]{1,20}>")
_NUMBER = r"[-+]?(?:\d{1,3}(?:[ ',\u202f\u00a0]\d{3})+|\d+)?(?:[.,]\d+)?(?:[eE][-+]?\d+)?"
_CELL = re.compile(
    rf"^[~\u2248<>=\s]*({_NUMBER})"
    rf"(?:\s*(?:-|\u2013|\u2014|to|\.\.|\u2026)\s*(?=[-+]?[.,]?\d)({_NUMBER}))?"
    r"\s*(?:(?:\u00b1|\+/-)\s*[\d.,]+)?\s*([%x\u00d7A-Za-z/\u00b5._ ]*?)(?:\s*\([^()]*\))?\s*$"
)
_LONGEST = 80
_DECIMAL_COMMA = re.compile(r"^[-+]?\d+,\d+$")
_THOUSANDS = re.compile(r"^[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$")


class Number(NamedTuple):
    """A number with the ends of the range that it was written as (None for a plain one) and its unit, lower case."""

    value: float
    low: float | None
    high: float | None
    unit: str


def plain(cell: str) -> str:
    """A cell without Markdown's and HTML's marks."""
    return _MARKUP.sub("", cell).strip() if any(c in cell for c in "*`<~") else cell.strip()


def number_of(cell: str) -> Number | None:
    """The number in a cell; None for words, and for an empty one. A range counts as its middle."""
    text = plain(cell)
    if not text or len(text) > _LONGEST or not any(c.isdigit() for c in text):
        return None
    match = _CELL.match(text)
    if match is None or not match[1]:
        return None
    low = _float(match[1])
    high = _float(match[2]) if match[2] else None
    if low is None:
        return None
    unit = match[3].strip().lower()
    if high is None or high < low:
        return Number(low, None, None, unit)
    return Number((low + high) / 2, low, high, unit)


def _float(text: str) -> float | None:
    text = text.strip()
    if _DECIMAL_COMMA.match(text) and not _THOUSANDS.match(text):
        text = text.replace(",", ".")
    try:
        value = float(re.sub(r"[ ',\u202f\u00a0]", "", text))
    except ValueError:
        return None
    return value if abs(value) < 1e18 else None
