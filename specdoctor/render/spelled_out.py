"""JSON for a person to read: what belongs together on a line, names in front, no brackets, nothing that is empty."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

MOST_LINES = 40
_MOST_ITEMS = 12
_DEEPEST = 6
_FIRST_TIME, _LAST_TIME = 1e9, 4e9
"""Seconds since the epoch that are taken for a time: 2001 to 2096."""
_SHORT_S = 1e-4
_RATES = ("per_s", "tok_s", "tokens_s", "mb_s", "gb_s")


def spelled_out(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Rows of name and text; what is left out is counted in the last of them."""
    rows: list[tuple[str, str]] = []
    for row in _rows(value, name, 0):
        if len(rows) == MOST_LINES:
            return [*rows, ("", "... and more: --json has all of it")]
        rows.append(row)
    return rows


def _rows(value: Any, name: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value and depth < _DEEPEST:
        value = {key: item for key, item in value.items() if not (depth and item in (None, "", [], {}))}
        plain = {key: item for key, item in value.items() if not isinstance(item, dict | list)}
        if plain and depth:
            yield name, _listed(f"{_words(key)} {_scalar(item, key)}" for key, item in plain.items())
        for key, item in value.items():
            if depth and key in plain:
                continue
            if key in plain:
                yield f"{name}, {_words(key)}" if name else _words(key), _scalar(item, key)
                continue
            yield from _rows(item, f"{name}, {_words(key)}" if name else _words(key), depth + 1)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value) and depth < _DEEPEST:
        for number, item in enumerate(value, start=1):
            yield from _rows(item, f"{name} {number}".strip(), depth + 1)
    else:
        yield name, _text(value)


def _words(key: object) -> str:
    return str(key).replace("_", " ")


def _text(value: Any, key: object = "") -> str:
    if isinstance(value, dict):
        return _listed(f"{_words(key)} {_text(item, key)}" for key, item in value.items()) or "nothing"
    if isinstance(value, list):
        return _listed(_text(item) for item in value) or "none"
    return _scalar(value, key)


def _scalar(value: Any, key: object = "") -> str:
    known = {None: "not known", True: "yes", False: "no"}
    if value is None or isinstance(value, bool):
        return known[value]
    if not isinstance(value, float):
        return str(value)
    if str(key).endswith(("_at", "since")) and _FIRST_TIME < value < _LAST_TIME:
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if str(key).endswith("_s") and not str(key).endswith(_RATES) and 0.0 < abs(value) < _SHORT_S:
        return "0 (less than 0.1 ms)"
    return f"{value:.6g}"


def _listed(items: Iterator[str]) -> str:
    found = list(items)
    rest = f", and {len(found) - _MOST_ITEMS} more" if len(found) > _MOST_ITEMS else ""
    return ", ".join(found[:_MOST_ITEMS]) + rest
