"""Citing files: a quote counts only if it really stands on the line that is named."""

from __future__ import annotations

import json
from collections.abc import Mapping

from specdoctor.core.model import Frozen
from specdoctor.core.server import Source

LONGEST = 300


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
    if source.line is not None and 1 <= source.line <= len(lines) and lines[source.line - 1].strip():
        return Quote(source=source.where, line=source.line, quote=lines[source.line - 1].strip()[:LONGEST])
    return None


def _spellings(source: Source) -> list[str]:
    """The quote, and how a `key=value` stands in JSON or behind a flag; shortened to what one can read."""
    spellings = [source.quote.strip()[:LONGEST]] if source.quote.strip() else []
    key, _, value = source.quote.partition("=")
    if value and key.replace("_", "").isalnum():
        spellings += [f'"{key}": {_as_json(value)}', f'"{key}":{_as_json(value)}']
        spellings += [f"--{key.replace('_', '-')} {value}", f"--{key.replace('_', '-')}={value}"]
    if source.key:
        last = source.key.rsplit(".", maxsplit=1)[-1]
        spellings += [f'"{last}"', f"--{last.replace('_', '-')}"]
    return spellings


def _as_json(value: str) -> str:
    known = {"None": "null", "True": "true", "False": "false"}
    if value in known:
        return known[value]
    try:
        return json.dumps(json.loads(value))
    except ValueError:
        return json.dumps(value)
