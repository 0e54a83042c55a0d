"""Citing files: a quote counts only if it really stands on the line that is named."""

from __future__ import annotations

import json
from collections.abc import Mapping

from specdoctor.core.model import Frozen
from specdoctor.core.server import Source

LONGEST = 300
EXCERPT = 120
WHOLE = "header"
"""The key of a source that is the whole of a list of tensors: what is missing in it has no place of its own."""
SHORTEST = 6
"""A quote of no more letters than this (a bare value) stands in many places: its key is looked for with it."""


class Quote(Frozen):
    """Words of a file, on the line that they stand on (counted from 1, lines ended by a line feed)."""

    source: str
    line: int
    quote: str


def quoted(source: Source, texts: Mapping[str, str]) -> Quote | None:
    """The source's words where they stand in the file; None for a source that is no given file, or not in it."""
    text = texts.get(source.where)
    if text is None:
        return None
    lines = text.split("\n")
    for words in _spellings(source):
        if source.line is not None and 1 <= source.line <= len(lines) and words in lines[source.line - 1]:
            return Quote(source=source.where, line=source.line, quote=words)
        for number, line in enumerate(lines, start=1):
            if words in line:
                return Quote(source=source.where, line=number, quote=words)
    if source.line is None and source.key == WHOLE:
        return _beginning(source.where, lines)
    if source.line is None or not 1 <= source.line <= len(lines) or not lines[source.line - 1].strip():
        return None
    return Quote(source=source.where, line=source.line, quote=_excerpt(lines[source.line - 1], source))


def _beginning(where: str, lines: list[str]) -> Quote | None:
    """A whole file is opened at its first line that says something."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            return Quote(source=where, line=number, quote=line.strip()[:EXCERPT].rstrip())
    return None


def _excerpt(line: str, source: Source) -> str:
    """The part of a line that speaks of the source's key, else its beginning."""
    key = (source.key or source.quote.partition("=")[0]).rsplit(".", maxsplit=1)[-1].strip()
    start = line.find(key) if key else -1
    return line.strip()[:LONGEST] if start < 0 else line[start : start + EXCERPT].rstrip()


def _spellings(source: Source) -> list[str]:
    """The quote, and how a key with its value stands in JSON or behind a flag; the most telling first."""
    quote = source.quote.strip()[:LONGEST]
    key, equals, value = quote.partition("=")
    if not (equals and key.replace("_", "").isalnum()):
        key, value = (source.key or "").rsplit(".", maxsplit=1)[-1], quote
    flag = f"--{key.replace('_', '-')}"
    pairs = [f'"{key}": {_as_json(value)}', f'"{key}":{_as_json(value)}', f"{flag} {value}", f"{flag}={value}"]
    pairs = pairs if key and value else []
    names = [f'"{key}"', flag] if key else []
    telling = len(quote) > SHORTEST
    return [*([quote] if telling else []), *pairs, *([quote] if quote and not telling else []), *names]


def _as_json(value: str) -> str:
    known = {"None": "null", "True": "true", "False": "false"}
    if value in known:
        return known[value]
    try:
        return json.dumps(json.loads(value))
    except ValueError:
        return json.dumps(value)
