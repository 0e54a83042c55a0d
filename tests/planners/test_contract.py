"""What holds for every planner, whoever proposes: it touches nothing, keeps nothing in mind, and comes to an end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.assembly.catalogue import all_checks
from specdoctor.assembly.planning import playbook_at
from specdoctor.core.events import ModelAsked, ProposalRefused, event_to_json
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status
from specdoctor.core.moves import Move, Relaunch, Snapshot
from specdoctor.core.ports import Briefing, Planner
from specdoctor.core.turns import Turns
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.llm import LlmPlanner
from specdoctor.planners.llm_client import ModelClient
from specdoctor.planners.playbook import PlaybookPlanner
from specdoctor.planners.rules import RulePlanner
from specdoctor.planners.tuning import TunePlanner
from specdoctor.planners.turns import TurnsPlanner
from tests.app.investigating import run_of, settings_for
from tests.planners.asking import endpoint_of
from tests.planners.model_server import ModelServer
from tests.planners.scripts import good, sloppy

WORLD = "power-capped"
PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
Made = Callable[[SimulatedHost], Planner]


@contextmanager
def made(kind: str) -> Iterator[Made]:
    """How to make the planner of a kind; the model's server runs meanwhile."""
    if kind in ("llm", "auto", "llm with mistakes"):
        with ModelServer(sloppy(0) if "mistakes" in kind else good) as server:
            endpoint = endpoint_of(server)
            yield lambda host: LlmPlanner(
                endpoint,
                ModelClient(endpoint, clock=host.clock, environment={}),
                checks=[c.name for c in all_checks()],
                mode="auto" if kind == "auto" else "llm",
            )
        return
    planners: dict[str, Callable[[], Planner]] = {
        "rules": RulePlanner,
        "tune": TunePlanner,
        "turns": TurnsPlanner,
        "playbook": lambda: PlaybookPlanner(playbook_at(sorted(PLAYBOOKS.glob("*.yaml"))[0])),
    }
    yield lambda host: planners[kind]()


KINDS = ("rules", "llm", "auto", "llm with mistakes", "playbook", "turns", "tune")


class Watched:
    """Asks each planner once more for what it just proposed, on a copy of the way to the record, and compares."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self.name = planner.name
        self.rounds = 0

    def propose(self, briefing: Briefing) -> Sequence[Move]:
        self.rounds += 1
        assert self.rounds < 200, "it does not come to an end"
        told: list[ModelAsked | ProposalRefused] = []
        before = briefing.ledger.count

        def tell(event: ModelAsked | ProposalRefused) -> None:
            told.append(event)
            briefing.tell(event)

        moves = self._planner.propose(
            Briefing(
                ledger=briefing.ledger,
                scene=briefing.scene,
                engine=briefing.engine,
                situation=briefing.situation,
                tell=tell,
            )
        )
        assert briefing.ledger.count == before + len(told), "only what it tells goes on the record"
        if not told:
            assert list(self._planner.propose(briefing)) == list(moves), "it keeps nothing in mind"
        for move in moves:
            if isinstance(move, Relaunch):
                tested = [briefing.ledger.hypotheses[h] for h in move.hypotheses]
                assert any(h.prediction is not None and h.status is Status.OPEN for h in tested)
        return moves


def driven(kind: str) -> tuple[Run, Watched]:
    world = World.from_yaml(WORLD)
    host = SimulatedHost(world, seed=0)
    with made(kind) as planner_of:
        watched = Watched(planner_of(host))
        run = run_of(host, planner=watched)
        turns = Turns(off=True, starts=1) if kind == "turns" else None
        start(run, settings_for(world, turns=turns, requests=8))
        investigate(run, checkpoints=None)
    return run, watched


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_reading_it_only_asks_to_read(kind: str) -> None:
    with made(kind) as planner_of:
        host = SimulatedHost(World.from_yaml(WORLD), seed=0)
        run = run_of(host)
        start(run, settings_for(World.from_yaml(WORLD)))
        moves = planner_of(host).propose(Briefing(ledger=run.ledger, scene=None, engine=None))
    assert moves == [] or all(isinstance(move, Snapshot) for move in moves)


@pytest.mark.parametrize("kind", [pytest.param(k, marks=[pytest.mark.slow] if k == "tune" else []) for k in KINDS])
def test_it_comes_to_an_end_with_the_server_as_it_was(kind: str) -> None:
    run, watched = driven(kind)
    assert run.ledger.ended is not None
    assert run.ledger.restored in (None, True)
    assert run.ledger.restarts <= run.ledger.settings.max_restarts
    assert watched.rounds > 1


@pytest.mark.parametrize("kind", ["llm", "llm with mistakes"])
def test_its_record_folds_to_the_same_ledger(kind: str) -> None:
    run, _ = driven(kind)
    again = Ledger()
    for event in run.store.events(run.id):
        again.apply(event)
        assert event_to_json(event)
    assert again.model_tokens == run.ledger.model_tokens > 0
    assert again.proposals_refused == run.ledger.proposals_refused
