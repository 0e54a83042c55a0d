"""A number of clients in the symptom counts only where nobody asked for one."""

from __future__ import annotations

import pytest

from specdoctor.app.investigation import start
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import run_of


@pytest.mark.parametrize(("asked", "used"), [({}, 8), ({"concurrency": 1}, 1), ({"concurrency": 4}, 4)])
def test_what_was_asked_for_goes_before_what_was_told(asked: dict[str, int], used: int) -> None:
    run = run_of(SimulatedHost(World.from_yaml("healthy"), seed=1))
    start(run, RunSettings.model_validate({"symptom": "it drops to 90 tok/s with 8 clients", **asked}))
    assert run.ledger.settings.concurrency == used
