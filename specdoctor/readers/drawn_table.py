"""Tables drawn in text: Markdown, boxes of lines, figures in aligned columns; the prose around them is left over."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.material import Material, Table
from specdoctor.core.reader import Reading
from specdoctor.readers.cells import number_of
from specdoctor.readers.columns import column_of
from specdoctor.readers.line import Line
from specdoctor.readers.rows import measures, table_of

_RULE = re.compile(r"^[\s|+:=\-\u2500-\u257f]+$")
_BARS = str.maketrans({"\u2502": "|", "\u2503": "|", "\u2551": "|"})
_LONGEST_LINE = 4000
_FEWEST_TURNED = 2
_MOST_ROWS = 5000


class _Reader(NamedTuple):
    name: str = "drawn_table"
    summary: str = "Markdown tables and tables drawn with lines, between paragraphs of text"
    rank: int = 40

    def read(self, text: str, *, where: str) -> Reading | None:
        if "|" not in text and "\u2502" not in text and "\u2503" not in text:
            return None
        lines = text.split("\n")
        tables: list[Table] = []
        rest = list(lines)
        for first, last in _blocks(lines):
            table = _table(where, lines, first, last)
            if table is None:
                continue
            tables.append(table)
            rest[first : last + 1] = [""] * (last + 1 - first)
        if not tables:
            return None
        left = "\n".join(rest)
        return Reading(kind="table", pieces=Material(tables=tuple(tables)), rest=left if left.strip() else None)


def _blocks(lines: list[str]) -> list[tuple[int, int]]:
    """Runs of lines with bars, first and last index."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for index, line in enumerate([*lines, ""]):
        drawn = len(line) <= _LONGEST_LINE and (
            line.translate(_BARS).count("|") >= 2 or bool(line.strip() and _RULE.match(line))
        )
        if drawn and start is None:
            start = index
        elif not drawn and start is not None:
            if index - start >= 2:
                found.append((start, index - 1))
            start = None
    return found


def _table(where: str, lines: list[str], first: int, last: int) -> Table | None:
    rows = [
        Line(n + 1, lines[n], _cells(lines[n]))
        for n in range(first, last + 1)
        if not _RULE.match(lines[n].rstrip("\r"))
    ]
    if len(rows) < 2 or len(rows[0].cells) < 2:
        return None
    header, body = rows[0].cells, [row for row in rows[1:_MOST_ROWS] if any(row.cells)]
    if not any(number_of(cell) is not None for row in body for cell in row.cells):
        return None
    turned = _turned(header, body)
    return turned_table(where, *turned) if turned is not None else table_of(where, header, body)


def _cells(line: str) -> tuple[str, ...]:
    text = line.translate(_BARS).strip().removeprefix("|").removesuffix("|")
    return tuple(cell.strip() for cell in text.split("|"))


def _turned(header: tuple[str, ...], body: list[Line]) -> tuple[tuple[str, ...], list[Line]] | None:
    """Header and rows of a table whose metrics run downwards ("| metric | baseline | eagle3 |"); None for another."""
    named = [row for row in body if row.cells and column_of(row.cells[0]).field not in ("", "label", "prompt")]
    if len(named) < max(_FEWEST_TURNED, len(body) // 2) or measures(header) > 0:
        return None
    heads = ("config", *(row.cells[0] for row in body))
    columns = []
    for index in range(1, len(header)):
        cells = (header[index], *(row.cells[index] if index < len(row.cells) else "" for row in body))
        columns.append(Line(body[0].number, body[0].text, cells))
    return heads, columns


def turned_table(where: str, header: tuple[str, ...], columns: list[Line]) -> Table:
    """A table that was turned: each of its rows cites the first line, since its figures stand on several."""
    return table_of(where, header, columns)


reader = _Reader()
