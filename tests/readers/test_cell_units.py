"""A unit of another kind than the heading's is refused with the reason."""

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
