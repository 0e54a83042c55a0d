"""Driving a run: lock, report, and the server put back when something fails that nobody expected."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from specdoctor.app.run import Run
from specdoctor.assembly.runs import new_run, resumed_run
from specdoctor.assembly.stores import close_store, open_store, stored_start
from specdoctor.cli.driving import drive
from specdoctor.cli.interrupts import LeftAtOnce
from specdoctor.cli.lasting import Lasting
from specdoctor.core.errors import EXIT_INTERRUPTED, StoreError
from specdoctor.core.launch import RestoreOrder, RestoreOutcome
from specdoctor.core.ledger import fold
from specdoctor.core.model import Risk
from specdoctor.core.moves import Move
from specdoctor.core.operations import OnProgress
from specdoctor.core.ports import Briefing
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.rules import RulePlanner
from specdoctor.store.mirrored import MirroredStore
from tests.app.investigating import Scripted, Silent

pytestmark = pytest.mark.thorough
RESTORE = "specdoctor restore TARGET --run"


class Broken(Exception):
    """A failure that no part of specdoctor expects."""


class NotBack(SimulatedHost):
    """A host on which the original does not come up again; at the second Ctrl-C somebody leaves at once."""

    def __init__(self, world: World, *, leave: bool = False) -> None:
        super().__init__(world, seed=1)
        self.leave_at_once = leave

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        if self.leave_at_once:
            raise LeftAtOnce
        return RestoreOutcome(action=order.action, status="failed", server=None, reason="no room", downtime_s=9.0)

    def leave(self, run: str, *, exit_code: int | None, words: str) -> float | None:
        super().leave(run, exit_code=exit_code, words=words)
        return 115.0


class AfterRestart(RulePlanner):
    """Plans by the rules until the first restart is made, then does what `then` says."""

    def __init__(self, then: str) -> None:
        self.then = then

    def propose(self, briefing: Briefing) -> Sequence[Move]:
        ledger = briefing.ledger
        if ledger.relaunches and not ledger.restores:
            if self.then == "fail":
                raise Broken
            if self.then == "nobody reads":
                sys.stderr.write("a line\n")
                return super().propose(briefing)
            os.kill(os.getpid(), signal.SIGINT)
        return super().propose(briefing)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MirroredStore]:
    opened = open_store(database=tmp_path / "runs.db", transcripts=tmp_path / "transcripts")
    yield opened
    close_store(opened)


def run_on(world: str, store: MirroredStore, *, then: str = "", host: SimulatedHost | None = None) -> Run:
    host = host or SimulatedHost(World.from_yaml(world), seed=1)
    settings = RunSettings(symptom=World.from_yaml(world).ask.symptom, allow=Risk.RESTART)
    run = new_run(
        store=store,
        operations=host,
        settings=settings,
        onlooker=Silent(),
        approver=Scripted(),
        clock=host.clock,
    )
    run.planner = AfterRestart(then) if then else run.planner
    return run


def test_a_run_leaves_events_artefacts_and_a_report(store: MirroredStore, tmp_path: Path) -> None:
    run = run_on("healthy", store)
    assert drive(run, store) == 0
    folder = tmp_path / "transcripts" / run.id
    assert (folder / "events.jsonl").read_text().count("\n") == len(list(store.events(run.id)))
    assert "healthy" in (folder / "report.md").read_text()
    assert any((folder / "artefacts").iterdir())


def test_a_failure_nobody_expected_still_puts_the_server_back(
    store: MirroredStore, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_on("kimi-k2.5-eagle3", store, then="fail")
    with pytest.raises(Broken):
        drive(run, store)
    ledger = fold(store.events(run.id))
    assert ledger.relaunches
    assert ledger.restored is True
    assert "putting the server back first" in capsys.readouterr().err
    assert (store.transcript.directory(run.id) / "report.md").exists()


def test_an_interrupt_puts_the_server_back_and_says_so(store: MirroredStore, capfd: pytest.CaptureFixture[str]) -> None:
    run = run_on("kimi-k2.5-eagle3", store, then="interrupt")
    assert drive(run, store) == EXIT_INTERRUPTED
    ledger = fold(store.events(run.id))
    assert ledger.restored is True
    assert ledger.ended is not None
    assert ledger.ended.exit_code == EXIT_INTERRUPTED
    assert "interrupted: putting the server back" in capfd.readouterr().err


def test_a_reader_who_leaves_in_the_middle_of_a_change_leaves_the_server_as_it_was(
    store: MirroredStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", buffering=1) as unread:
        monkeypatch.setattr(sys, "stderr", Lasting(unread))
        run = run_on("kimi-k2.5-eagle3", store, then="nobody reads")
        assert drive(run, store) == EXIT_INTERRUPTED
    ledger = fold(store.events(run.id))
    assert ledger.relaunches
    assert ledger.restored is True
    assert ledger.ended is not None


@pytest.mark.parametrize("then", ["interrupt", "fail"])
def test_a_run_that_leaves_its_server_down_tells_the_host_that_it_has_ended(
    then: str, store: MirroredStore, capsys: pytest.CaptureFixture[str]
) -> None:
    host = NotBack(World.from_yaml("graphs-off-by-flag"))
    run = run_on("graphs-off-by-flag", store, then=then, host=host)
    if then == "fail":
        with pytest.raises(Broken):
            drive(run, store)
        assert host.left == (None, "Broken: ")
    else:
        assert drive(run, store) == EXIT_INTERRUPTED
        assert host.left is not None
        assert host.left[0] == EXIT_INTERRUPTED
        assert "THE SERVER IS DOWN: the original did not come back (no room" in host.left[1]
    told = capsys.readouterr().err
    assert f"guard on the host puts the original back in 115 s, unless somebody does so before: {RESTORE}" in told


def test_a_run_that_is_left_at_once_tells_the_host_too(store: MirroredStore) -> None:
    host = NotBack(World.from_yaml("graphs-off-by-flag"), leave=True)
    run = run_on("graphs-off-by-flag", store, then="interrupt", host=host)
    assert drive(run, store) == EXIT_INTERRUPTED
    assert host.left == (EXIT_INTERRUPTED, "left at once")


def test_a_run_that_leaves_nothing_on_the_host_has_nothing_to_tell_it(store: MirroredStore) -> None:
    host = SimulatedHost(World.from_yaml("healthy"), seed=1)
    assert drive(run_on("healthy", store, host=host), store) == 0
    assert host.left is None


def test_a_run_is_driven_once_at_a_time(store: MirroredStore) -> None:
    run = run_on("healthy", store)
    with store.store.lock(run.id), pytest.raises(StoreError, match="already driven"):
        drive(run, store)


def test_a_new_run_writes_its_settings_first(store: MirroredStore) -> None:
    host = SimulatedHost(World.from_yaml("healthy"), seed=1)
    run = new_run(
        store=store,
        operations=host,
        settings=RunSettings(symptom="slow"),
        onlooker=Silent(),
        approver=Scripted(),
        clock=host.clock,
    )
    assert stored_start(store, run.id).settings.symptom == "slow"
    again = resumed_run(run.id, store=store, operations=host, onlooker=Silent(), approver=Scripted(), clock=host.clock)
    assert again.id == run.id
    assert again.ledger.started is None
