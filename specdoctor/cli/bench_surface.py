"""specdoctor bench --surface: a table of accept lengths by condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from specdoctor.cli.bench_progress import BlockProgress
from specdoctor.cli.output import print_json, print_text, width

if TYPE_CHECKING:
    from specdoctor.analysis.surface import Row
    from specdoctor.app.benching import BenchSettings, Side

BLOCKS = 4
"""Beside one for each temperature: greedy, its beginning, records free and by a schema."""


def heats_of(settings: BenchSettings) -> tuple[float, ...]:
    """The temperatures above 0; the usual two where none was named."""
    found = tuple(dict.fromkeys(load.temperature for load in settings.loads if load.temperature > 0))
    return found or (0.7, 1.0)


def requests_of(settings: BenchSettings) -> int:
    """How many requests will be sent, warm-up apart."""
    return settings.requests * (BLOCKS + len(heats_of(settings)))


def measured_surface(side: Side, settings: BenchSettings, *, as_json: bool) -> None:
    """Measure and print."""
    from specdoctor.app.surface import conditions

    told = BlockProgress()
    try:
        rows = conditions(side, settings, heats_of(settings), on_block=told.block, on_progress=told.step)
    finally:
        told.end()
    if as_json:
        found = [row.model_dump(mode="json") for row in rows]
        print_json({"schema": "specdoctor.surface/1", "target": side.label, "rows": found})
    else:
        print_text(_text(rows, side))


def _text(rows: Sequence[Row], side: Side) -> str:
    from specdoctor.render.layout import columns, wrap

    tables = []
    for along in dict.fromkeys(row.along for row in rows):
        cells = [_cells(row) for row in rows if row.along == along]
        tables.append(columns((along, "accept length", "n", "difference", "says"), cells, width=width()))
    lengths = next((r.accept_length.estimator for r in rows if r.accept_length is not None), "")
    differences = dict.fromkeys(r.difference.estimator for r in rows if r.difference is not None)
    notes = [
        f"accept length: tokens per target forward, bonus token included: {lengths}; one client; n requests",
        *(f"difference to the first condition of its kind: {how}" for how in differences),
    ]
    told = "\n".join(line for note in notes for line in wrap(note, width()))
    return "\n\n".join([f"{side.label}, {side.spec.label}", *tables, told])


def _cells(row: Row) -> tuple[str, ...]:
    length, d = row.accept_length, row.difference
    difference = f"{d.value:+.2f} ({d.low:+.2f}..{d.high:+.2f})" if d is not None else ""
    return row.value, str(length) if length is not None else "not known", str(row.requests), difference, row.says
