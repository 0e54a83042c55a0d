"""JSON for a person to read: what belongs together on a line, names in front, no brackets, nothing that is empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_LINES = 40
_MOST_ITEMS = 12
_DEEPEST = 6


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
            yield name, _listed(f"{_words(key)} {_scalar(item)}" for key, item in plain.items())
        for key, item in value.items():
            if depth and key in plain:
                continue
            yield from _rows(item, f"{name}, {_words(key)}" if name else _words(key), depth + 1)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value) and depth < _DEEPEST:
        for number, item in enumerate(value, start=1):
            yield from _rows(item, f"{name} {number}".strip(), depth + 1)
    else:
        yield name, _text(value)


def _words(key: object) -> str:
    return str(key).replace("_", " ")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return _listed(f"{_words(key)} {_text(item)}" for key, item in value.items()) or "nothing"
    if isinstance(value, list):
        return _listed(_text(item) for item in value) or "none"
    return _scalar(value)


def _scalar(value: Any) -> str:
    known = {None: "not known", True: "yes", False: "no"}
    if value is None or isinstance(value, bool):
        return known[value]
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _listed(items: Iterator[str]) -> str:
    found = list(items)
    rest = f", and {len(found) - _MOST_ITEMS} more" if len(found) > _MOST_ITEMS else ""
    return ", ".join(found[:_MOST_ITEMS]) + rest
