"""Investigations of the practice worlds with a language model asked over HTTP, on a virtual clock."""

from __future__ import annotations

from typing import Literal

from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.assembly.catalogue import all_checks
from specdoctor.core.endpoint import Endpoint
from specdoctor.core.model import Risk
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.llm import LlmPlanner
from specdoctor.planners.llm_client import ModelClient
from tests.app.investigating import run_of, settings_for
from tests.planners.model_server import ModelServer

KEY = "sk-of-the-tests-0123456789abcdef"


def endpoint_of(server: ModelServer, **more: object) -> Endpoint:
    return Endpoint.model_validate({"model": "scripted", "base_url": server.url, "timeout_s": 5.0, **more})


def advised(
    world: World,
    server: ModelServer,
    *,
    mode: Literal["llm", "auto"] = "llm",
    endpoint: Endpoint | None = None,
    **settings: object,
) -> tuple[Run, int]:
    """Investigate a world with the model of a server; the run and its exit code."""
    host = SimulatedHost(world, seed=0)
    endpoint = endpoint or endpoint_of(server)
    client = ModelClient(endpoint, clock=host.clock, environment={"OPENAI_API_KEY": KEY})
    planner = LlmPlanner(endpoint, client, checks=[check.name for check in all_checks()], mode=mode)
    run = run_of(host, planner=planner)
    start(run, settings_for(world, **{"allow": Risk.RESTART, "planner": mode, "endpoint": endpoint, **settings}))
    return run, investigate(run, checkpoints=None)
