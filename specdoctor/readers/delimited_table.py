"""Tables with separators: CSV, TSV, semicolons."""

from __future__ import annotations

import csv
from typing import NamedTuple

from specdoctor.core.material import Material
from specdoctor.core.reader import Reading
from specdoctor.readers.cells import number_of
from specdoctor.readers.line import Line
from specdoctor.readers.rows import measures, table_of

_SEPARATORS = (",", "\t", ";")
_MOST_LINES = 20_000
_LONGEST_LINE = 20_000
_LONGEST_HEADING = 48
_SAME_WIDTH = 0.8
"""Share of lines that must have the header's number of cells (heuristic: a table may end in a remark)."""


class _Reader(NamedTuple):
    name: str = "delimited_table"
    summary: str = "CSV, TSV and semicolon tables of measurements"
    rank: int = 30

    def read(self, text: str, *, where: str) -> Reading | None:
        lines = [(n, line.rstrip("\r")) for n, line in enumerate(text.split("\n", _MOST_LINES), start=1)]
        shown = [(n, line) for n, line in lines if line.strip() and not line.lstrip().startswith("#")]
        if len(shown) < 2 or any(len(line) > _LONGEST_LINE for _, line in shown[:3]):
            return None
        for separator in _SEPARATORS:
            header = _cells(shown[0][1], separator)
            if not _heads(header):
                continue
            body = [Line(n, line, tuple(_cells(line, separator))) for n, line in shown[1:] if len(line) < _LONGEST_LINE]
            fitting = [line for line in body if len(line.cells) == len(header)]
            if len(fitting) < _SAME_WIDTH * len(body) or not _figures(header, fitting):
                continue
            return Reading(kind="table", pieces=Material(tables=(table_of(where, header, fitting),)))
        return None


def _cells(line: str, separator: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])]
    except csv.Error:
        return []


def _heads(header: list[str]) -> bool:
    """Headings are short words and hardly ever numbers; a sentence with commas has other cells."""
    return (
        len(header) >= 2
        and all(len(cell) <= _LONGEST_HEADING for cell in header)
        and sum(1 for cell in header if cell and not cell.isspace()) >= len(header) - 1
        and sum(1 for cell in header if number_of(cell) is not None) <= len(header) // 4
        and sum(len(cell.split()) for cell in header) <= 3 * len(header)
    )


def _figures(header: list[str], rows: list[Line]) -> bool:
    with_number = sum(1 for row in rows if any(number_of(cell) is not None for cell in row.cells))
    return bool(rows) and with_number * 2 >= len(rows) and (len(header) > 2 or measures(header) > 0)


reader = _Reader()
