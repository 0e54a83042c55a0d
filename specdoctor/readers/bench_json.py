"""Results of load generators as JSON: `sglang.bench_serving` (JSON lines), `vllm bench serve`, flat ones like them."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import JsonValue

from specdoctor.core.material import Material, Row, Table
from specdoctor.core.reader import Reading
from specdoctor.core.server import Source
from specdoctor.readers.json_file import document_of, line_of, number_at, objects_by_line
from specdoctor.readers.line import Line
from specdoctor.readers.rows import measures, table_of

_FEWEST_MEASURES = 1
_MOST_ROWS = 10_000
_VLLM = "spec_decode_acceptance_rate"


class _Reader(NamedTuple):
    name: str = "bench_json"
    summary: str = "JSON results of sglang.bench_serving, vllm bench serve, and flat lists of measured rows"
    rank: int = 14

    def read(self, text: str, *, where: str) -> Reading | None:
        if text.lstrip()[:1] not in ("{", "["):
            return None
        found = [(n, flat) for n, flat in _objects(text)[:_MOST_ROWS] if measures(tuple(flat)) >= _FEWEST_MEASURES]
        if not found:
            return None
        header = tuple(dict.fromkeys(key for _, flat in found for key in flat))
        rows = [_row(where, number, flat) for number, flat in found]
        return Reading(
            kind="bench result", pieces=Material(tables=(Table(where=where, header=header, rows=tuple(rows)),))
        )


def _objects(text: str) -> list[tuple[int, dict[str, JsonValue]]]:
    """Objects with the line that they are cited by: that of their throughput, else their first."""
    document = document_of(text)
    if document is None:
        return objects_by_line(text)
    items = document if isinstance(document, list) else _inner(document)
    marks = ("output_throughput", "throughput", "accept_length", "mean_tpot_ms")
    line = next((n for mark in marks if (n := line_of(text, f'"{mark}')) is not None), 1)
    return [(line, item) for item in items if isinstance(item, dict)]


def _inner(document: JsonValue) -> list[JsonValue]:
    """The rows of a document: itself, or the list that it holds under a name for results."""
    if not isinstance(document, dict):
        return []
    for key in ("results", "rows", "runs", "benchmarks", "data"):
        inner = document.get(key)
        if isinstance(inner, list) and inner and all(isinstance(item, dict) for item in inner):
            return inner
    return [document]


def _row(where: str, number: int, flat: dict[str, JsonValue]) -> Row:
    simple = {k: v for k, v in flat.items() if isinstance(v, str | int | float) and not isinstance(v, bool)}
    header, cells = tuple(simple), tuple(str(value)[:200] for value in simple.values())
    row = table_of(where, header, [Line(number, "", cells)]).rows[0]
    key = next((k for k in ("output_throughput", "accept_length", "mean_tpot_ms") if k in flat), None)
    extra: dict[str, Any] = {"source": Source(where=where, line=number, key=key, quote=f'"{key}"' if key else "")}
    rate = number_at(flat, _VLLM)
    if rate is not None:
        extra["acceptance"] = rate / 100
    positions = flat.get("spec_decode_per_position_acceptance_rates")
    if isinstance(positions, list):
        extra["per_position"] = tuple(float(p) for p in positions if isinstance(p, int | float))
    return row.model_copy(update=extra)


reader = _Reader()
