"""When the original cannot be put back the run ends and says so, and a resumed one tries again."""

from __future__ import annotations

import pytest

from specdoctor.app.investigation import investigate, resume, start
from specdoctor.core.errors import EXIT_INTERRUPTED, EXIT_OUTSIDE, OutputError, StoreError
from specdoctor.core.events import ActionStarted, Event, ServerRelaunched
from specdoctor.core.launch import LaunchOrder, LaunchOutcome, RestoreOrder, RestoreOutcome
from specdoctor.core.model import Risk
from specdoctor.core.operations import OnProgress
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import MemoryStore, run_of


class Obstructed(SimulatedHost):
    """Refuses to put the original back for as long as somebody else's process holds its port."""

    obstructed = True

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        if self.obstructed:
            return RestoreOutcome(action=order.action, status="refused", server=None, reason="the port is taken")
        return super().restore(order, on_progress)


def test_a_restore_that_is_refused_is_tried_once_and_again_on_a_resume() -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    host, store = Obstructed(world, seed=1), MemoryStore()
    run = run_of(host, store=store)
    start(run, RunSettings(symptom=world.ask.symptom, allow=Risk.RESTART))
    assert investigate(run, checkpoints=None) == EXIT_OUTSIDE
    assert [r.outcome.reason for r in run.ledger.restores] == ["the port is taken"]
    assert (run.ledger.restored, run.ledger.released) == (False, False)
    assert run.ledger.verdict is not None

    host.obstructed = False
    again = run_of(host, store=store)
    resume(again)
    assert investigate(again, checkpoints=None) == 0
    assert [r.outcome.status for r in again.ledger.restores] == ["refused", "restored"]
    assert (again.ledger.restored, again.ledger.released) == (True, True)


class Dead(SimulatedHost):
    """Its original does not come up again."""

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        log = "loading\nValueError: the shards are gone\n"
        return RestoreOutcome(action=order.action, status="failed", server=None, reason="exited with code 1", log=log)


@pytest.mark.slow
def test_the_end_of_a_run_says_that_the_server_is_down() -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    run = run_of(Dead(world, seed=1))
    start(run, RunSettings(symptom=world.ask.symptom, allow=Risk.RESTART))
    assert investigate(run, checkpoints=None) == EXIT_OUTSIDE
    assert run.ledger.ended is not None
    words = "DOWN: the original did not come back (exited with code 1; "
    assert words in run.ledger.ended.reason
    assert run.ledger.verdict is not None
    (server,) = [text for label, text in run.ledger.verdict.lines if label == "server"]
    assert words in server
    assert "the shards are gone" in server


class FullStore(MemoryStore):
    """Takes nothing more once a test launch is up."""

    full = False

    def append(self, run: str, event: Event) -> None:
        self.full = self.full or isinstance(event, ServerRelaunched)
        if self.full:
            raise OutputError("runs.db: database or disk is full")
        super().append(run, event)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        (SimulatedHost, OutputError, "the server was put back"),
        (Dead, StoreError, "THE SERVER IS NOT AS IT WAS: exited"),
    ],
)
def test_no_room_for_what_is_learned_puts_the_server_back_or_says_that_it_is_not(
    kind: type[SimulatedHost], error: type[StoreError], words: str
) -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    store = FullStore()
    run = run_of(kind(world, seed=1), store=store)
    start(run, RunSettings(symptom=world.ask.symptom, allow=Risk.RESTART))
    with pytest.raises(error, match=words) as raised:
        investigate(run, checkpoints=None)
    assert type(raised.value) is error
    assert raised.value.exit_code == (74 if error is OutputError else 5)
    assert raised.value.next_step == "make room, then: specdoctor investigate --resume r-test --max-restarts 5"
    assert run.back_unrecorded == (error is OutputError)


class Interrupted(SimulatedHost):
    """Its user loses patience while a restart is waited for, as often as `times`; the host finishes it all the same."""

    times = 0

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        outcome = super().relaunch(order, on_progress)
        if self.times:
            self.times -= 1
            raise KeyboardInterrupt
        return outcome


class Gone(Exception):
    """The process is killed."""


class DyingStore(MemoryStore):
    """Its process dies when a restart has begun."""

    dies = True

    def append(self, run: str, event: Event) -> None:
        super().append(run, event)
        if self.dies and isinstance(event, ActionStarted) and event.what == "relaunch":
            self.dies = False
            raise Gone


def test_an_interrupt_while_a_lost_restart_is_taken_up_puts_the_server_back() -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    host, store = Interrupted(world, seed=1), DyingStore()
    run = run_of(host, store=store)
    start(run, RunSettings(symptom=world.ask.symptom, allow=Risk.RESTART))
    with pytest.raises(Gone):
        investigate(run, checkpoints=None)
    host.times = 1
    again = run_of(host, store=store)
    resume(again)
    assert investigate(again, checkpoints=None) == EXIT_INTERRUPTED
    assert (again.ledger.restored, again.ledger.released) == (True, True)
    assert again.ledger.open_actions() == []
