"""How evaluations judge a run: right, grounded in evidence of its own, or honestly short of it."""

from __future__ import annotations

import pytest

from specdoctor.core.model import Verdict
from specdoctor.lab.world import World
from tests.app.investigating import simulated
from tests.evaluating.scoring import is_grounded, is_right, scored

WORLD = "power-capped"


@pytest.mark.slow
def test_a_right_answer_counts_and_a_made_up_one_does_not() -> None:
    run, _ = simulated(WORLD)
    world, ledger = World.from_yaml(WORLD), run.ledger
    score = scored(run, world)
    assert (score.right, score.grounded, score.honest, score.within_budget) == (True, True, False, True)
    assert (score.calls, score.tokens, score.cost) == (0, 0, None)
    reached = ledger.verdict
    assert reached is not None
    cause = next(c for c in reached.causes if c.status == "supported")
    assert not is_grounded(cause.model_copy(update={"evidence": ("E9999",)}), ledger)
    assert not is_grounded(cause.model_copy(update={"evidence": ()}), ledger)
    assert not is_right(reached.model_copy(update={"verdict": Verdict.HEALTHY}), world)
    assert not is_right(reached.model_copy(update={"causes": ()}), world)
