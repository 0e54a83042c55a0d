"""Faults that are proved and not tested: each comes with what would tell whether it explains the symptom."""

from __future__ import annotations

import pytest

from specdoctor.app.wording import listed, one_or
from specdoctor.core.model import Risk
from tests.app.investigating import simulated


@pytest.mark.slow
def test_each_of_several_faults_has_its_test_or_its_fix() -> None:
    run, _ = simulated("kimi-k2.5-eagle3", allow=Risk.READ)
    reached = run.ledger.verdict
    assert reached is not None
    real = {c.cause for c in reached.causes if c.status == "supported"}
    assert real == {"CFG-3", "WIRE-1"}
    assert reached.headline == "CFG-3 and WIRE-1 are real; whether they explain the symptom was not tested"
    fixes = [text for label, text in reached.lines if label == "fix"]
    assert [text.startswith("WIRE-1: ") for text in fixes] == [True], "what a launch undoes needs no other fix"
    missing = dict(reached.lines)["not known"]
    for cause in real:
        assert f"{cause}; would tell: " in missing
        assert any(text.startswith(f"{cause}: ") for text in reached.missing)


@pytest.mark.parametrize("world", ["kimi-k2.5-eagle3", pytest.param("off-by-one", marks=pytest.mark.slow)])
def test_a_fault_that_was_decided_is_not_left_open(world: str) -> None:
    run, _ = simulated(world)
    reached = run.ledger.verdict
    assert reached is not None
    decided = {
        h.cause
        for h in run.ledger.hypotheses.values()
        if h.answers == "explains" and h.status in ("supported", "falsified")
    }
    assert not any(text.startswith(f"{cause}: repair it") for cause in decided for text in reached.missing)


@pytest.mark.parametrize(
    ("names", "words"), [(("A",), "A is"), (("A", "B"), "A and B are"), (("A", "B", "C"), "A, B and C are")]
)
def test_one_or_several(names: tuple[str, ...], words: str) -> None:
    assert f"{listed(names)} {one_or(names, 'is', 'are')}" == words
