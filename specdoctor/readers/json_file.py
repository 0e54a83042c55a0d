"""JSON as files hold it: one document, or one on each line."""

from __future__ import annotations

import functools
import json

from pydantic import JsonValue

_MOST_LINES = 100_000


@functools.lru_cache(maxsize=2)
def document_of(text: str) -> JsonValue:
    """The document in a text; None where it is no JSON (also for a JSON null)."""
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start not in ("{", "["):
        return None
    try:
        found: JsonValue = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return found


def object_of(text: str) -> dict[str, JsonValue] | None:
    """The JSON object in a text; None for anything else."""
    found = document_of(text)
    return found if isinstance(found, dict) else None


def objects_by_line(text: str) -> list[tuple[int, dict[str, JsonValue]]]:
    """The objects of a file of JSON lines with the number of their line; lines that are none are left out."""
    found: list[tuple[int, dict[str, JsonValue]]] = []
    for number, line in enumerate(text.split("\n", _MOST_LINES), start=1):
        if not line.lstrip().startswith("{"):
            continue
        try:
            parsed = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(parsed, dict):
            found.append((number, parsed))
    return found


def number_at(found: dict[str, JsonValue], *keys: str) -> float | None:
    """The first of the keys that holds a number."""
    for key in keys:
        value = found.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


def line_of(text: str, words: str) -> int | None:
    """Number of the line on which words first stand."""
    at = text.find(words)
    return text.count("\n", 0, at) + 1 if at >= 0 else None
