"""Rows of measurements from the cells of a table, whatever kind of file it stood in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from specdoctor.core.material import Row, Table
from specdoctor.core.server import Source
from specdoctor.readers.cell_units import Unit, unit_of, why_refused
from specdoctor.readers.cells import number_of, plain
from specdoctor.readers.columns import MEASURES, Column, columns_of
from specdoctor.readers.line import Line
from specdoctor.readers.two_sides import two_sides

_PLAIN = re.compile(
    r"(?:^|[^a-z])(?:base(?:line)?|no[ _-]?spec\w*|without(?: spec\w*)?|w/?o(?: spec\w*)?|vanilla|plain|non[ _-]?spec"
    r"|spec\w*[ _-]?off|off|target (?:alone|only)|no[ _-]?(?:mtp|eagle3?|draft(?:er|ing)?|ngram|speculation)"
    r"|(?:mtp|eagle3?|k|n|spec)[ _-]?0|autoregressive)(?:[^a-z0-9.]|$)"
)
_DRAFTS = re.compile(
    r"eagle|mtp|nextn|n-?gram|medusa|dflash|dspark|draft|spec(?!\w*[ _-]?off)|\btarget \+|lookahead|suffix|[ _-]k\d"
)
_ALONE = re.compile(r"draft\w*(?: model)?(?: alone| only|-only|-alone)")
_OTHERS = re.compile(
    r"publish|reference|model card|\bcard\b|paper|report(?:ed)?\b|others?\b|claimed|vendor|reddit|blog|expected"
)
_BEFORE = re.compile(r"^before$|^old$|^earlier$")
_BUCKET = re.compile(r"(\d[\d_.,]*)\s*(k?)\s*(?:-|\u2013|to|\.\.|:)\s*(\d[\d_.,]*|inf|\u221e)\s*(k?)", re.IGNORECASE)
_OPEN = re.compile(r"(?:>=?|over|above)?\s*(\d+)\s*(k?)\s*\+?$", re.IGNORECASE)
_TEXT = frozenset({"label", "prompt", "position", ""})
_SWITCH_WORDS = frozenset({"on", "off", "yes", "no", "true", "false", "enabled", "disabled"})
MOST_REFUSED = 5
_WHOLE = frozenset({"draft_steps", "topk", "draft_tokens"})


def table_of(where: str, header: Sequence[str], lines: Sequence[Line]) -> Table:
    """A table with what each row is about; cells of unknown columns are kept as written."""
    heads = tuple(plain(cell) for cell in header)
    if (sided := two_sides(heads, lines)) is not None:
        heads, lines = sided
    columns = columns_of(heads)
    rows = tuple(_row(where, heads, columns, line) for line in lines)
    return Table(where=where, header=heads, rows=_told_apart(rows, columns), refused=_refused(heads, columns, lines))


def measures(header: Sequence[str]) -> int:
    """How many columns are measurements of speed or acceptance."""
    return sum(1 for column in columns_of(tuple(plain(cell) for cell in header)) if column.field in MEASURES)


def _row(where: str, header: tuple[str, ...], columns: Sequence[Column], line: Line) -> Row:
    given: dict[str, Any] = {}
    labels: list[str] = []
    for column, cell in zip(columns, line.cells, strict=False):
        if column.field == "label":
            labels.append(plain(cell))
        elif column.field == "prompt" and number_of(cell) is None:
            given["prompt"] = plain(cell)
        elif column.field == "position":
            given |= _position(cell)
        elif column.field not in _TEXT:
            given |= _figure(column, cell)
    if not labels and columns and columns[0].field == "" and line.cells and _names(line.cells[0]):
        labels.append(plain(line.cells[0]))
    if "throughput_low_tok_s" in given and "throughput_high_tok_s" in given and "throughput_tok_s" not in given:
        given["throughput_tok_s"] = (given["throughput_low_tok_s"] + given["throughput_high_tok_s"]) / 2
    label = " ".join(word for word in labels if word)
    return Row(
        source=Source(where=where, line=line.number, quote=line.text.strip()[:300]),
        label=label,
        elsewhere=bool(_OTHERS.search(label.lower().replace("_", " "))),
        columns=dict(zip(header, (cell.strip() for cell in line.cells), strict=False)),
        **given,
    )


def _refused(header: Sequence[str], columns: Sequence[Column], lines: Sequence[Line]) -> tuple[str, ...]:
    """Cells whose own unit is of another kind than their column's, in words."""
    out: list[str] = []
    for line in lines:
        for head, column, cell in zip(header, columns, line.cells, strict=False):
            found = number_of(cell) if column.field not in _TEXT else None
            kind = why_refused(column.field, unit_of(found.unit)) if found is not None else ""
            if kind and len(out) < MOST_REFUSED:
                out.append(f"line {line.number}: {plain(cell)!r} under {head!r} is {kind}, and was not taken")
    return tuple(out)


def _names(cell: str) -> bool:
    """Whether a cell under an unknown heading names its row: no number, and no position of that heading's switch."""
    return number_of(cell) is None and plain(cell).lower() not in _SWITCH_WORDS


def _figure(column: Column, cell: str) -> dict[str, Any]:
    found = number_of(cell)
    if found is None:
        return {}
    unit = unit_of(found.unit)
    if why_refused(column.field, unit):
        return {}
    value = found.value * _scale(column, unit)
    if column.field == "acceptance":
        share = value / 100 if (found.unit.startswith("%") and column.scale == 1.0) or value > 1.0 else value
        return {"acceptance": share} if 0 <= share <= 1 else {}
    if column.field == "accept_length" and value < 1.0:
        return {}
    if column.field in _WHOLE:
        return {column.field: int(value)} if value == int(value) and 0 <= value < 1e6 else {}
    ends = {}
    if column.field == "throughput_tok_s" and found.low is not None and found.high is not None:
        ends = {"throughput_low_tok_s": found.low * unit.scale, "throughput_high_tok_s": found.high * unit.scale}
    return {column.field: value, **ends}


def _scale(column: Column, unit: Unit) -> float:
    """What a cell's number is multiplied by: its own unit goes before the heading's."""
    if unit.kind == "a time":
        return unit.scale / 1e3 if column.field == "latency_s" else unit.scale
    return unit.scale if unit.kind == "a speed" else column.scale


def _position(cell: str) -> dict[str, float]:
    match = _BUCKET.search(cell)
    if match is not None:
        ends = {"position_from": _count(match[1], match[2])}
        upper = match[3].lower()
        return ends if upper in ("inf", "\u221e") else {**ends, "position_to": _count(upper, match[4])}
    single = _OPEN.fullmatch(cell.strip())
    return {"position_from": _count(single[1], single[2])} if single is not None else {}


def _count(text: str, kilo: str) -> float:
    digits = re.sub(r"[_,]", "", text).rstrip(".")
    return float(digits or 0) * (1024 if kilo else 1)


def _told_apart(rows: tuple[Row, ...], columns: Sequence[Column]) -> tuple[Row, ...]:
    """Each row with whether it speculates: by its steps, its label, else by its accept length where others have one."""
    has_length = any(column.field == "accept_length" for column in columns)
    some = any(row.accept_length is not None for row in rows)
    every = all(row.accept_length is not None for row in rows)
    out = []
    for row in rows:
        label = row.label.lower().replace("_", " ")
        told: bool | None = None
        if _ALONE.search(label):
            told = None
        elif row.draft_steps is not None:
            told = row.draft_steps > 0
        elif row.topk == 0 or row.draft_tokens == 0 or _PLAIN.search(label):
            told = False
        elif row.accept_length is not None or row.acceptance is not None or row.drafted_tokens or _DRAFTS.search(label):
            told = True
        elif has_length and some and not every:
            told = False
        elif _BEFORE.search(label.strip()):
            told = None
        out.append(row.model_copy(update={"speculative": told}))
    return tuple(out)
