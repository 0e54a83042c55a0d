"""Earlier runs answer a search or they do not; they never stand in its way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from specdoctor.app.investigation import investigate, resume, start
from specdoctor.app.run import Run
from specdoctor.app.tune_outcome import earlier_outcome, outcome_of
from specdoctor.assembly.catalogue import all_engines
from specdoctor.core.errors import StoreError
from specdoctor.core.events import Event, RunStarted
from specdoctor.core.facts import Facts, LeaseFacts
from specdoctor.core.operations import SnapshotRequest
from specdoctor.lab.random_world import random_world
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.planners.tuning import TunePlanner
from tests.app.investigating import MemoryStore, run_of
from tests.app.test_tune import PAYS, searched

pytestmark = pytest.mark.slow


class Held(SimulatedHost):
    """A host whose server another run holds."""

    def snapshot(self, request: SnapshotRequest) -> Facts:
        lease = LeaseFacts(run="1543", port=30000, who="ml@laptop", user="ml")
        return super().snapshot(request).model_copy(update={"leases": (lease,)})


class Empty(SimulatedHost):
    """A host without any server."""

    def snapshot(self, request: SnapshotRequest) -> Facts:
        return super().snapshot(request).model_copy(update={"processes": (), "logs": ()})


class OneMore(MemoryStore):
    """A store with a finished search, and after it another run that came to nothing."""

    def __init__(self, first: Run, last: Run) -> None:
        super().__init__()
        self.held = {"first": first.store, "last": last.store}
        self.begun = [
            r.model_copy(update={"run": name})
            for name, run in (("first", first), ("last", last))
            for r in run.store.runs()
        ]

    def runs(self) -> list[RunStarted]:
        return self.begun

    def events(self, run: str) -> Iterator[Event]:
        return self.held[run].events(run)

    def artefact(self, run: str, name: str) -> bytes:
        return self.held[run].artefact(run, name)


class Unreadable(OneMore):
    """The newest run cannot be read, or its artefact is of another version."""

    def __init__(self, first: Run, last: Run, *, artefact: bytes | None = None) -> None:
        super().__init__(first, last)
        self.instead = artefact

    def events(self, run: str) -> Iterator[Event]:
        if run == "last" and self.instead is None:
            raise StoreError("event 1 of run last cannot be read")
        return super().events(run)

    def artefact(self, run: str, name: str) -> bytes:
        return self.instead if run == "last" and self.instead is not None else super().artefact(run, name)


def refused(host: type[SimulatedHost]) -> Run:
    """A search that found no server it may study."""
    run = run_of(host(random_world(PAYS), seed=1), planner=TunePlanner())
    start(run, searched(PAYS).ledger.settings)
    assert investigate(run, checkpoints=None) == 5
    return run


def looked_up(store: Any) -> str | None:
    run = searched(PAYS)
    assert run.scene is not None
    found = earlier_outcome(store, run.scene, run.ledger.settings, target=run.operations.target, engines=all_engines())
    return found.run if found is not None else None


@pytest.mark.parametrize("host", [Held, Empty])
def test_a_search_that_was_refused_answers_nothing_and_blocks_nothing(host: type[SimulatedHost]) -> None:
    run = refused(host)
    assert looked_up(OneMore(searched(PAYS), run)) == "first"
    found = outcome_of(run.store, run.id, engines=all_engines())
    assert found.tuned.results == ()
    assert found.reason


@pytest.mark.parametrize("artefact", [None, b"{}", b'{"of": "another version"}', b"no json"])
def test_a_run_that_cannot_be_read_blocks_nothing(artefact: bytes | None) -> None:
    assert looked_up(Unreadable(searched(PAYS), searched(PAYS), artefact=artefact)) == "first"


def test_a_run_that_was_refused_looks_again_when_it_is_resumed() -> None:
    run = refused(Held)
    run.operations = SimulatedHost(random_world(PAYS), seed=1)
    resume(run)
    assert investigate(run, checkpoints=None) != 5
    assert run.scene is not None
    assert run.ledger.server is not None
