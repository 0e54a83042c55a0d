"""A run that comes back after the guard has put the original back: it notes that, and restarts nothing twice."""

from __future__ import annotations

from collections import Counter

import pytest

from specdoctor.app.investigation import investigate, resume, start
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.launch import (
    ORIGINAL,
    GuardPhase,
    GuardStory,
    HostState,
    LaunchOrder,
    LaunchOutcome,
    RestoreOutcome,
)
from specdoctor.core.model import Risk
from specdoctor.core.operations import OnProgress
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import COMPARED, SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import MemoryStore, run_of

pytestmark = pytest.mark.thorough

WORLD = "graphs-off-by-flag"


class Guarded(SimulatedHost):
    """A host whose guard has put the original back, or given up, by the time anybody asks."""

    story: GuardStory | None = None
    gone = False
    """Whether what the run had left is gone: an order about another server than the one that runs is refused."""

    def guard_acts(self, phase: GuardPhase) -> None:
        self._recorded = True
        if phase == "restored":
            ready, _ = self._start(ORIGINAL, self.clock.now())
            self.clock.reach(ready)
            self._touched = False
        outcome = RestoreOutcome(
            action="guard",
            status="restored" if phase == "restored" else "failed",
            server=self._ref if phase == "restored" else None,
            equal=dict.fromkeys(COMPARED, True) if phase == "restored" else {},
            start_s=30.0,
            downtime_s=31.0,
        )
        self.story = GuardStory(
            alive=False,
            grace_s=120,
            since=1.0,
            phase=phase,
            acted_at=self.clock.now(),
            quiet_s=121.0,
            reason="" if phase == "restored" else "no room",
            outcome=outcome,
            log="ready to roll",
            story=((self.clock.now(), "nobody was in touch for 121 s; putting the original back"),),
        )

    def restored_by_hand(self, extra: tuple[str, ...] = ()) -> None:
        """Somebody ran `specdoctor restore`, which leaves nothing of the run; or started another server since."""
        self._argv = (*self._argv, *extra)
        ready, _ = self._start(ORIGINAL, self.clock.now())
        self.clock.reach(ready)
        self._touched = self._recorded = False
        self.gone = True

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        if self.gone and order.server != self._ref:
            return LaunchOutcome(action=order.action, status="refused", server=None, reason="not the server seen")
        if self.story is not None and order.action not in self._done:
            return LaunchOutcome(action=order.action, status="undone", server=None, reason="the guard put it back")
        return super().relaunch(order, on_progress)

    def state(self, run: str) -> HostState:
        return super().state(run).model_copy(update={"guard": self.story})


class Gone(BaseException):
    """The process is killed; nothing may catch it."""


class Dying(MemoryStore):
    """Its process dies when an event of this kind, about this, is written."""

    def __init__(self, kind: str, what: str = "") -> None:
        super().__init__()
        self._dies: tuple[str, str] | None = (kind, what)

    def append(self, run: str, event: ev.Event) -> None:
        super().append(run, event)
        if self._dies is not None and (event.kind, getattr(event, "what", getattr(event, "source", ""))) == self._dies:
            self._dies = None
            raise Gone


def killed(store: MemoryStore, host: Guarded) -> None:
    run = run_of(host, store=store)
    start(run, RunSettings(symptom="slower than without speculation", allow=Risk.RESTART))
    with pytest.raises(Gone):
        investigate(run, checkpoints=None)


def resumed(store: MemoryStore, host: Guarded) -> tuple[Run, int]:
    run = run_of(host, store=store)
    resume(run)
    return run, investigate(run, checkpoints=None)


@pytest.mark.parametrize(
    ("kind", "what"),
    [("action.started", "relaunch"), ("evidence.recorded", "relaunch"), ("server.relaunched", "")],
    ids=["while down", "while it came up", "while changed"],
)
def test_what_the_guard_did_becomes_part_of_the_run(kind: str, what: str) -> None:
    host, store = Guarded(World.from_yaml(WORLD)), Dying(kind, what)
    killed(store, host)
    host.guard_acts("restored")
    before = host.starts
    run, _ = resumed(store, host)
    assert run.ledger.restored is True
    assert run.ledger.released
    restores = [e for e in store.kept if isinstance(e, ev.ServerRestored)]
    assert [r.by for r in restores].count("guard") == 1
    assert restores[0].by == "guard"
    assert restores[0].acted_at == host.story.acted_at if host.story else False
    note = run.ledger.evidence[restores[0].evidence]
    assert note.summary.startswith("after 121 s without a word from us: nobody was in touch")
    starts = Counter(e.action for e in store.kept if isinstance(e, ev.ActionStarted))
    assert set(starts.values()) == {1}
    assert run.ledger.restarts <= run.ledger.settings.max_restarts
    assert host.starts == before, "the budget allows no further test launch and its way back"
    assert run.ledger.verdict is not None


def test_a_guard_that_failed_is_told_and_the_run_tries_itself() -> None:
    host, store = Guarded(World.from_yaml(WORLD)), Dying("server.relaunched")
    killed(store, host)
    host.guard_acts("failed")
    run, _ = resumed(store, host)
    by = [(e.by, e.outcome.status) for e in store.kept if isinstance(e, ev.ServerRestored)]
    assert by == [("guard", "failed"), ("specdoctor", "restored")]
    assert run.ledger.restored is True


def test_a_launch_that_came_up_and_that_the_guard_undid_is_not_read_back_from_the_original() -> None:
    host, store = Guarded(World.from_yaml(WORLD)), Dying("evidence.recorded", "relaunch")
    killed(store, host)
    host.guard_acts("restored")
    run, _ = resumed(store, host)
    first = run.ledger.relaunches[0]
    assert (first.outcome.status, first.spec, first.outcome.server) == ("undone", None, None)
    assert "the guard put the original back" in first.outcome.reason
    assert all(h.status != "parked" or "came up with" not in h.because for h in run.ledger.hypotheses.values())


def test_a_guard_that_did_not_put_it_back_is_not_said_to_have_done_so() -> None:
    host, store = Guarded(World.from_yaml(WORLD)), Dying("evidence.recorded", "relaunch")
    killed(store, host)
    host.guard_acts("failed")
    run, _ = resumed(store, host)
    assert run.ledger.relaunches[0].outcome.reason.endswith("the guard took over")


MOMENTS = pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("action.started", "relaunch"),
        ("evidence.recorded", "relaunch"),
        ("server.relaunched", ""),
        ("action.started", "restore"),
        ("evidence.recorded", "restore"),
    ],
    ids=["while down", "while it came up", "while changed", "on the way back", "when it was back"],
)


@MOMENTS
def test_a_run_goes_on_after_its_server_was_put_back_by_hand(kind: str, what: str) -> None:
    host, store = Guarded(World.from_yaml(WORLD)), Dying(kind, what)
    killed(store, host)
    host.restored_by_hand()
    run, code = resumed(store, host)
    assert code != 5
    assert run.ledger.restored is True
    by = [(e.by, e.outcome.status) for e in store.kept if isinstance(e, ev.ServerRestored)]
    assert by[0] == ("hand", "restored")
    assert run.ledger.restarts >= 2
    assert run.ledger.open_actions() == []
    assert len({r.outcome.action for r in run.ledger.relaunches}) == len(run.ledger.relaunches)
    assert run.ledger.verdict is not None
    told = dict(run.ledger.verdict.lines)
    assert told["server"].startswith("as it was")
    assert "what nobody measured" in told["cost"]


@MOMENTS
def test_what_is_not_as_it_was_is_said_where_the_way_back_is_gone(kind: str, what: str) -> None:
    host, store = Guarded(World.from_yaml(WORLD)), Dying(kind, what)
    killed(store, host)
    host.restored_by_hand(extra=("--log-level", "debug"))
    before = host.starts
    run, code = resumed(store, host)
    assert code == 5
    assert run.ledger.ended is not None
    assert "the way back of run r-test is gone from the host" in run.ledger.ended.reason
    assert "(argv)" in run.ledger.ended.reason
    assert host.starts == before
    assert run.ledger.restored is False
    assert run.ledger.verdict is not None
    lines = dict(run.ledger.verdict.lines)
    assert lines["server"].startswith("NOT as it was found")
    assert "leave it as it is" not in lines["do now"]
