"""A server that gains greedily and loses at the temperature that its users sample at."""

from __future__ import annotations

import pytest

from specdoctor.app.investigation import investigate, start
from specdoctor.core.model import Verdict
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import run_of, settings_for

TOLD = "With EAGLE-3 110 tok/s, without speculation 190 tok/s; our users sample at temperature 1"


@pytest.mark.slow
def test_a_loss_at_the_users_temperature_is_no_gain_for_the_greedy_figures() -> None:
    world = World.from_yaml("healthy-offbyone-convention")
    models = tuple(
        m.model_copy(update={"acceptance": m.acceptance.model_copy(update={"temperature_drop": 0.75})})
        if m.acceptance is not None
        else m
        for m in world.models
    )
    run = run_of(SimulatedHost(world.model_copy(update={"models": models}), seed=0))
    start(run, settings_for(world, symptom=TOLD))
    investigate(run, checkpoints=None)
    verdict = run.ledger.verdict
    assert verdict is not None
    labels = [label for label, _ in verdict.lines]
    assert (verdict.verdict, verdict.headline[:26]) == (Verdict.CAUSE, "SAMP-1: at temperature 1 i")
    assert any("than without, greedily" in text for text in verdict.ruled_out)
    assert labels[1:3] == ["gains", "loses"]
    do_now = dict(verdict.lines)["do now"]
    assert do_now.startswith("where users sample (temperature 1): ")
    assert do_now.endswith("where they send greedy requests: leave it as it is")
    assert verdict.recommendation is not None
    assert "--speculative" not in verdict.recommendation.launch
