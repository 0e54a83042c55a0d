"""Answers compared in whole investigations: an engine that loses sampled text, and near ties that are no fault."""

from __future__ import annotations

import pytest

from specdoctor.core.model import Risk, Role, Status, Verdict
from tests.app.investigating import simulated

pytestmark = pytest.mark.slow


def test_an_engine_that_loses_sampled_text_is_named_and_its_drafter_is_not() -> None:
    run, code = simulated("lost-when-sampling")
    assert run.ledger.verdict is not None
    assert (code, run.ledger.verdict.verdict, run.ledger.restored) == (0, Verdict.CAUSE, True)
    named = {c.cause: (c.status, c.role) for c in run.ledger.verdict.causes}
    assert named == {"CORR-2": ("supported", Role.EXPLAINS)}
    assert "greedily 2.9" in run.ledger.verdict.headline
    assert any(o.cause == "SAMP-1" and o.stance == "refutes" for o in run.ledger.observed())
    assert "a launch without speculation" in dict(run.ledger.verdict.lines)["do now"]


def test_where_nothing_may_be_restarted_it_is_suspected_with_the_test_that_decides() -> None:
    run, _ = simulated("lost-when-sampling", allow=Risk.LOAD)
    assert run.ledger.verdict is not None
    assert run.ledger.verdict.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert [(c.cause, c.status) for c in run.ledger.verdict.causes] == [("CORR-2", "suspected")]
    assert any("without speculation" in missing for missing in run.ledger.verdict.missing)


def test_near_ties_are_no_fault() -> None:
    run, code = simulated("near-ties")
    assert run.ledger.verdict is not None
    assert (code, run.ledger.verdict.verdict, run.ledger.verdict.causes) == (0, Verdict.HEALTHY, ())
    claim = run.ledger.by_key("symptom:answers")
    assert claim is not None
    assert claim.status is Status.FALSIFIED
    assert "7 of 8 greedy answers" in claim.because
    assert "0.02 nats apart" in claim.because


def test_nobody_is_asked_where_only_speed_is_complained_of() -> None:
    run, _ = simulated("graphs-off-by-flag")
    assert not any(m.source == "answers" for m in run.ledger.measurements)
