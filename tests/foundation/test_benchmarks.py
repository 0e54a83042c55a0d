"""The benchmark suite: every section is found, one that breaks is told in the table, and its data are what it says."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest

from benchmarks.__main__ import measured, sections, table
from benchmarks.parsing import drawn_block
from benchmarks.rows import Row
from benchmarks.tools.null_server import token_counts
from specdoctor.engines.sglang_log import read_log
from specdoctor.engines.sglang_series import blocks, decode_series


def test_a_section_is_one_file() -> None:
    assert list(sections())[:4] == ["load", "parsing", "ssh", "comparing"]


def test_a_section_that_breaks_is_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> Iterable[Row]:
        raise OSError("no space left")

    rows = [Row("a", "1 s", "2 s", "2 x", ">= 1 x", "met", ("how",)), *measured("disk", broken)]
    text = table(rows)
    assert "disk: skipped: it broke: OSError: no space left" in text
    assert text.splitlines()[-2] == "how"
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("limit", "per_chunk"), [(1, 4), (2, 4), (9, 4), (10, 4), (17, 16)])
def test_the_null_server_sends_what_was_asked_for(limit: int, per_chunk: int) -> None:
    counts = list(token_counts(limit, per_chunk))
    assert counts[0] == 1
    assert counts[-1] == limit
    assert all(0 < b - a <= per_chunk for a, b in pairwise(counts))


def test_the_drawn_log_is_a_servers_log() -> None:
    text = drawn_block(lines=80)
    assert len(read_log(text, where="x").decode) == 80
    assert len(decode_series(blocks(text.encode())).accept_length) == 80
