"""A playbook with a language model beside it: the steps stay as they are, and the model comes after them."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.assembly.catalogue import all_checks
from specdoctor.assembly.planning import playbook_at
from specdoctor.core.model import Risk
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.expectations import outcomes
from specdoctor.planners.llm import AdvisedPlaybook
from specdoctor.planners.llm_client import ModelClient
from specdoctor.planners.playbook import PlaybookPlanner
from tests.app.investigating import run_of
from tests.planners.asking import endpoint_of
from tests.planners.model_server import ModelServer, Script
from tests.planners.scripts import good, looping, repeating, sloppy

pytestmark = pytest.mark.slow

BOOK = playbook_at(Path(__file__).parents[2] / "playbooks" / "eagle3-slower-than-baseline.yaml")
WORLD = "kimi-k2.5-eagle3"


def replayed(script: Script | None) -> tuple[Run, int]:
    host, playbook = SimulatedHost(World.from_yaml(WORLD), seed=3), PlaybookPlanner(BOOK)
    settings = RunSettings(allow=Risk.RESTART, planner="playbook", max_restarts=BOOK.budgets.restarts)
    if script is None:
        run = run_of(host, planner=playbook)
        start(run, settings)
        return run, investigate(run, checkpoints=None)
    with ModelServer(script) as server:
        endpoint = endpoint_of(server)
        client = ModelClient(endpoint, clock=host.clock)
        checks = [check.name for check in all_checks()]
        planner = AdvisedPlaybook(endpoint, client, checks=checks, playbook=playbook, mode="llm")
        run = run_of(host, planner=planner)
        start(run, settings.model_copy(update={"endpoint": endpoint, "advice": "llm"}))
        return run, investigate(run, checkpoints=None)


@pytest.mark.parametrize("script", [good, looping, repeating, sloppy(0), sloppy(7)])
def test_expectations_come_out_as_without_it(script: Script) -> None:
    alone, alone_code = replayed(None)
    run, code = replayed(script)
    assert code == alone_code == 0
    assert [o.met for o in outcomes(BOOK, run.ledger)] == [o.met for o in outcomes(BOOK, alone.ledger)]
    assert run.ledger.model_calls, "it was asked"
    assert run.ledger.restored is True
    assert run.ledger.restarts == alone.ledger.restarts
    steps = [a.started.what for a in alone.ledger.actions.values() if a.started.what in ("relaunch", "checks")]
    assert [a.started.what for a in run.ledger.actions.values() if a.started.what in ("relaunch", "checks")] == steps
    first = next(i for i, e in enumerate(run.store.events(run.id)) if e.kind == "model.asked")
    begun = [e for e in list(run.store.events(run.id))[:first] if e.kind == "action.started"]
    assert [e.what for e in begun if e.what == "relaunch"] == ["relaunch"] * 2, "after the steps"
