"""Figures from memory in whole investigations: shown beside what is measured, and never used in a test."""

from __future__ import annotations

import pytest

from specdoctor.render.json_run import run_document
from tests.app.investigating import simulated

MEMORY = {"recall": "baseline=140 spec=150 cycle_ms=19.5", "recalled_at": "some weeks ago"}


@pytest.mark.slow
def test_they_change_nothing_but_what_is_told() -> None:
    told, _ = simulated("kimi-k2.5-eagle3", **MEMORY)
    untold, _ = simulated("kimi-k2.5-eagle3")
    assert [h.claim for h in told.ledger.hypotheses.values()] == [h.claim for h in untold.ledger.hypotheses.values()]
    assert [b.text for b in told.ledger.bounds] == [b.text for b in untold.ledger.bounds]

    claims = {c.text: c for c in run_document(told.ledger).claims if c.recalled_at}
    assert claims.keys() == {"baseline=140", "spec=150", "cycle_ms=19.5"}
    assert {c.status for c in claims.values()} == {"other-state"}
    assert "measured now: " in claims["baseline=140"].why
    assert told.ledger.verdict is not None
    words = dict(told.ledger.verdict.lines)["recalled"]
    assert words.startswith("baseline=140, spec=150, cycle_ms=19.5: another state of the system")
    assert "(some weeks ago)" in words


@pytest.mark.slow
def test_break_even_is_told_from_measured_figures_on_both_sides() -> None:
    run, _ = simulated("kimi-k2.5-eagle3")
    found = run_document(run.ledger).break_even
    assert found is not None
    assert abs(found.accept_length - found.measured_cycle_ms * found.baseline_tok_s / 1000.0) < 1e-9
    assert abs(found.cycle_ms - found.measured_accept_length * 1000.0 / found.baseline_tok_s) < 1e-9
    assert 2.4 < found.accept_length < 2.7
    assert len(found.evidence) == 2
