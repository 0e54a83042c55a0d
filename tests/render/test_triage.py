"""A triage document as text."""

from __future__ import annotations

from typing import Any

from specdoctor.render.triage import triage_lines


def document(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "headline": "not enough evidence in these files",
        "engine": {"name": "sglang", "version": "0.5.17", "version_range": None},
        "state": "served",
        "facts": {},
        "facts_from": {},
        "identity": [],
        "contradicted": [],
        "findings": [],
        "missing": [],
        "unread": {},
        "to_try": None,
        "told": [],
        "told_sums": [],
    }
    return {**base, **changes}


def suspect(role: str) -> dict[str, Any]:
    quoted = [{"source": "a.log", "line": 1, "quote": "x=1"}]
    return {
        "cause": "GRAPH-4", "status": "suspected", "role": role, "claim": "host time", "evidence": quoted,
        "next_check": "two chain lengths", "fix": "",
    }  # fmt: skip


def test_a_suspect_stands_with_the_test_that_would_decide() -> None:
    text = triage_lines(document(findings=[suspect("contributes")]), width=100)
    assert "suspected   GRAPH-4: host time (possible)" in text
    assert "  tells     two chain lengths" in text


def test_a_test_that_stands_below_is_not_told_twice() -> None:
    text = triage_lines(document(findings=[suspect("present")], missing=["GRAPH-4: two chain lengths"]), width=100)
    assert text.count("two chain lengths") == 1


def test_a_loss_and_a_gain_are_sentences() -> None:
    loss = {"throughput_tok_s": 34.4, "baseline_tok_s": 61.5, "speedup": 0.5593}
    assert "loses       34.4 tok/s with speculation, 61.5 without: 0.56 times" in triage_lines(
        document(facts=loss), width=100
    )
    gain = {"throughput_tok_s": 90.0, "baseline_tok_s": 60.0, "speedup": 1.5}
    assert "gains       90 tok/s with speculation, 60 without: 1.50 times" in triage_lines(
        document(facts=gain), width=100
    )


def test_where_the_given_line_lacks_the_fault_none_is_there_to_try() -> None:
    given = {"label": "graphs on", "line": "", "shape": "shell", "where": "a.sh:1", "remarks": ["this line is so"]}
    text = triage_lines(document(to_try=given), width=100)
    assert text.splitlines()[-1] == "not to try  graphs on (a.sh:1): this line is so"
