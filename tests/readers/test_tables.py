"""Tables of measurements in their many spellings."""

from __future__ import annotations

import pytest

from specdoctor.core.material import Row
from specdoctor.readers.every import material_of


def rows(text: str, where: str = "given.txt") -> list[Row]:
    return [row for table in material_of({where: text}).tables for row in table.rows]


def test_a_csv_with_base_rows_of_no_steps() -> None:
    base, spec = rows(
        "config,concurrency,steps,topk,draft_tokens,accept_length,throughput_tok_s\n"
        "plain,4,0,0,0,,356.1\nsetup,4,6,10,32,3.1,190.8\n"
    )
    assert (base.speculative, base.throughput_tok_s, base.accept_length) == (False, 356.1, None)
    assert (spec.speculative, spec.draft_steps, spec.topk, spec.draft_tokens) == (True, 6, 10, 32)
    assert (spec.concurrency, spec.accept_length, spec.source.line) == (4, 3.1, 3)
    assert "190.8" in spec.source.quote


@pytest.mark.parametrize(
    ("header", "cell", "field", "value"),
    [
        ("Output token throughput (tok/s)", "1,234.5", "throughput_tok_s", 1234.5),
        ("tokens/s", "88", "throughput_tok_s", 88.0),
        ("t/s", "18,4", "throughput_tok_s", 18.4),
        ("gen tps", "42 tok/s", "throughput_tok_s", 42.0),
        ("Mean TPOT (ms)", "7.07", "tpot_ms", 7.07),
        ("tpot_s", "0.0071", "tpot_ms", 7.1),
        ("TTFT [s]", "0.4", "ttft_ms", 400.0),
        ("Acceptance rate (%)", "64.3", "acceptance", 0.643),
        ("accept_rate", "64.3 %", "acceptance", 0.643),
        ("acceptance rate (%)", "0.9", "acceptance", 0.009),
        ("mean accept len", "2.54", "accept_length", 2.54),
        ("AL", "2.54", "accept_length", 2.54),
        ("\u03c4", "2.54", "accept_length", 2.54),
        ("k", "5", "draft_steps", 5),
        ("num_speculative_tokens", "5", "draft_steps", 5),
        ("batch size", "16", "concurrency", 16.0),
        ("max-concurrency", "16", "concurrency", 16.0),
        ("qps", "2", "request_rate", 2.0),
        ("step time (ms)", "11.6", "step_ms", 11.6),
        # A cell's own unit goes before its heading's.
        ("tok/s", "1.2k tok/s", "throughput_tok_s", 1200.0),
        ("tok/s", "150 tokens/sec", "throughput_tok_s", 150.0),
        ("TPOT (s)", "12 ms", "tpot_ms", 12.0),
        ("TPOT (ms)", "500 us", "tpot_ms", 0.5),
        ("TPOT (ms)", "12 ms/token", "tpot_ms", 12.0),
        ("latency (s)", "500 ms", "latency_s", 0.5),
        ("accept length", "2.5 tokens", "accept_length", 2.5),
    ],
)
def test_headings(header: str, cell: str, field: str, value: float) -> None:
    found = material_of({"given.txt": f'name;"{header}";"remark"\none;"{cell}";"no remark"\n'})
    (row,) = found.tables[0].rows
    assert getattr(row, field) == pytest.approx(value)
    assert found.files[0].problem == ""


@pytest.mark.parametrize(
    "header", ["total_token_throughput", "P99 TPOT (ms)", "request throughput (req/s)", "mean_steps"]
)
def test_headings_that_are_no_field(header: str) -> None:
    (row,) = rows(f"name,{header},users\nx,5,1\n")
    assert (row.throughput_tok_s, row.tpot_ms, row.draft_steps) == (None, None, None)
    assert row.columns[header] == "5"


@pytest.mark.parametrize(
    ("label", "speculative"),
    [
        ("baseline", False), ("no_spec", False), ("no-speculation", False), ("without MTP", False), ("vanilla", False),
        ("mtp0", False), ("target alone", False), ("w/o spec", False), ("spec off", False),
        ("eagle3", True), ("mtp_k1", True), ("ngram", True), ("target + drafter", True), ("spec", True),
        ("drafter alone", None), ("A", None), ("before", None),
    ],
)  # fmt: skip
def test_labels_tell_rows_apart(label: str, speculative: bool | None) -> None:
    (row,) = rows(f"config,throughput_tok_s\n{label},10\n")
    assert row.speculative is speculative


def test_of_two_rows_the_one_without_an_accept_length_did_not_speculate() -> None:
    first, second = rows("config,accept_length,throughput_tok_s\nbefore,,3180\nnow,2.71,2710\n")
    assert (first.speculative, second.speculative) == (False, True)


def test_other_peoples_rows() -> None:
    mine, theirs = rows("config,throughput_tok_s\nmtp3,41\npublished_mtp3,131\n")
    assert (mine.elsewhere, theirs.elsewhere) == (False, True)


def test_ranges_count_as_their_middle() -> None:
    (row,) = rows("config,throughput\neagle3,10-11 tok/s\n")
    assert (row.throughput_tok_s, row.throughput_low_tok_s, row.throughput_high_tok_s) == (10.5, 10.0, 11.0)
    (row,) = rows("config,throughput_tok_s_min,throughput_tok_s_max\neagle3,10,11\n")
    assert (row.throughput_tok_s, row.throughput_low_tok_s, row.throughput_high_tok_s) == (10.5, 10.0, 11.0)


def test_counts_of_drafted_and_accepted_tokens() -> None:
    (row,) = rows("config,n_max,draft_tokens,draft_accepted,acceptance\nmtp,2,134,123,0.918\n")
    assert (row.draft_steps, row.drafted_tokens, row.accepted_tokens, row.acceptance) == (2, 134.0, 123.0, 0.918)
    assert row.draft_tokens is None


@pytest.mark.parametrize(
    ("cell", "start", "end"),
    [("0-1024", 0, 1024), ("2k-4k", 2048, 4096), ("8192+", 8192, None), ("1024..2048", 1024, 2048)],
)
def test_positions(cell: str, start: float, end: float | None) -> None:
    (row,) = rows(f"position_bucket_tokens,accept_length\n{cell},2.1\n")
    assert (row.position_from, row.position_to) == (start, end)


def test_a_markdown_table_between_paragraphs() -> None:
    text = (
        "We measured this on 8 cards:\n\n"
        "| setup | bs | tok/s | AL |\n|---|:---:|---:|---|\n"
        "| base | 1 | **88.6** | - |\n| eagle3 | 1 | 234.5 | 5.88 |\n\n"
        "It should be 300 tok/s.\n"
    )
    found = material_of({"issue.md": text})
    base, spec = found.tables[0].rows
    assert (base.throughput_tok_s, base.speculative, base.source.line) == (88.6, False, 5)
    assert (spec.throughput_tok_s, spec.accept_length, spec.source.line) == (234.5, 5.88, 6)
    (wish,) = [f for notes in found.notes for f in notes.figures]
    assert (wish.value, wish.role, wish.source.line) == (300.0, "wished", 8)


def test_a_table_whose_metrics_run_downwards() -> None:
    base, spec = rows(
        "| metric | baseline | eagle3 |\n|--|--|--|\n| tok/s | 88.6 | 100.4 |\n| TPOT (ms) | 11.3 | 9.96 |\n"
    )
    assert (base.label, base.throughput_tok_s, base.tpot_ms, base.speculative) == ("baseline", 88.6, 11.3, False)
    assert (spec.label, spec.throughput_tok_s, spec.tpot_ms, spec.speculative) == ("eagle3", 100.4, 9.96, True)


@pytest.mark.parametrize("text", ["Hello, this is a letter.\nIt has commas, too, and 5 numbers.\n", "a,b\n", ""])
def test_what_is_no_table(text: str) -> None:
    assert rows(text) == []
