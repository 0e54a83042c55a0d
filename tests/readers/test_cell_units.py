"""A cell's own unit goes before its heading's, and a unit of another kind is refused with the reason."""

from __future__ import annotations

import pytest

from specdoctor.core.material import Row
from specdoctor.readers.every import material_of


def read(heading: str, cell: str) -> tuple[Row, str]:
    found = material_of({"t.csv": f"mode,{heading}\nbaseline,{cell}\neagle3,{cell}\n"})
    return found.tables[0].rows[0], found.files[0].problem


@pytest.mark.parametrize(
    ("heading", "cell", "kind"),
    [
        ("tok/s", "150 ms", "a time"),
        ("tok/s", "45 %", "a share"),
        ("throughput", "1.4x", "a ratio"),
        ("TPOT (ms)", "88 tok/s", "a speed"),
        ("accept length", "2.5 ms", "a time"),
        ("acceptance rate", "12 ms", "a time"),
    ],
)
def test_a_cell_of_another_kind_is_refused(heading: str, cell: str, kind: str) -> None:
    row, problem = read(heading, cell)
    assert (row.throughput_tok_s, row.tpot_ms, row.accept_length, row.acceptance) == (None, None, None, None)
    assert f"line 2: {cell!r} under {heading!r} is {kind}" in problem
    assert row.columns[heading] == cell


@pytest.mark.parametrize(
    ("heading", "cell", "field", "value"),
    [
        ("tok/s", "1.2k tok/s", "throughput_tok_s", 1200.0),
        ("tok/s", "150 tokens/sec", "throughput_tok_s", 150.0),
        ("TPOT (s)", "12 ms", "tpot_ms", 12.0),
        ("TPOT (ms)", "500 us", "tpot_ms", 0.5),
        ("TPOT (ms)", "12 ms/token", "tpot_ms", 12.0),
        ("latency (s)", "500 ms", "latency_s", 0.5),
        ("accept length", "2.5 tokens", "accept_length", 2.5),
    ],
)
def test_a_cell_with_a_unit_of_its_own(heading: str, cell: str, field: str, value: float) -> None:
    row, problem = read(heading, cell)
    assert getattr(row, field) == pytest.approx(value)
    assert problem == ""
