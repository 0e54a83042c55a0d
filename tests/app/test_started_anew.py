"""A resumed run whose server others have started anew: it goes on where that is the same, else it says so."""

from __future__ import annotations

import pytest

from specdoctor.app.investigation import investigate, resume, start
from specdoctor.app.returned import compared
from specdoctor.app.run import Run
from specdoctor.app.started_anew import times_said
from specdoctor.core import events as ev
from specdoctor.core.errors import ServerGone
from specdoctor.core.facts import Facts, LeaseFacts
from specdoctor.core.launch import ORIGINAL
from specdoctor.core.measurement import BenchPlan, BenchRecord
from specdoctor.core.model import Risk
from specdoctor.core.operations import OnProgress, SnapshotRequest
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.render.tables import run_row
from tests.app.investigating import MemoryStore, run_of

WORLD = "graphs-off-by-flag"
RESUME = "specdoctor investigate --resume r-test"


class Shared(SimulatedHost):
    """A host on which others start and stop the server; an order about a process that is gone is refused."""

    def started_by_others(self, *extra: str) -> None:
        self._argv = (*self._argv, *extra)
        ready, _ = self._start(ORIGINAL, self.clock.now())
        self.clock.reach(ready)

    def stopped_by_others(self) -> None:
        self._core = None
        self._log.clear()

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        if plan.server != self._ref or self._core is None:
            raise ServerGone(f"process {plan.server.pid} is gone or is another one now")
        return super().bench(plan, on_progress)


class Gone(BaseException):
    """The process is killed; nothing may catch it."""


class Dying(MemoryStore):
    """Its process dies once, when the first benchmark begins or the server was put back."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what: str | None = what

    def append(self, run: str, event: ev.Event) -> None:
        super().append(run, event)
        if self._what is not None and self._what in (getattr(event, "what", None), event.kind):
            self._what = None
            raise Gone


def killed(what: str) -> tuple[Dying, Shared]:
    store, host = Dying(what), Shared(World.from_yaml(WORLD))
    run = run_of(host, store=store)
    start(run, RunSettings(symptom="slower than without speculation", allow=Risk.RESTART, requests=4))
    with pytest.raises(Gone):
        investigate(run, checkpoints=None)
    return store, host


def resumed(store: MemoryStore, host: SimulatedHost) -> tuple[Run, int]:
    run = run_of(host, store=store)
    resume(run)
    return run, investigate(run, checkpoints=None)


def reason(run: Run) -> str:
    assert run.ledger.ended is not None
    return run.ledger.ended.reason


@pytest.mark.slow
@pytest.mark.parametrize("what", ["bench", "host.released"], ids=["before a restart", "after the server was put back"])
def test_it_goes_on_with_the_same_server_in_another_process(what: str) -> None:
    store, host = killed(what)
    known = store.kept[-1]
    host.started_by_others()
    run, code = resumed(store, host)
    assert code == 0, reason(run)
    assert run.ledger.restored is True
    assert run.ledger.open_actions() == []
    assert any("others started the server anew" in note.text for note in run.ledger.notes)
    seen = [e for e in store.kept if isinstance(e, ev.ServerSeen)]
    assert len(seen) == 2
    assert seen[0].ref != seen[1].ref
    benches = [e for e in store.kept if isinstance(e, ev.ActionEnded) and e.action == getattr(known, "action", None)]
    assert [e.outcome for e in benches] == (["unknown"] if what == "bench" else [])


@pytest.mark.slow
def test_what_is_not_the_same_is_said_and_left_alone_however_often_it_is_resumed() -> None:
    store, host = killed("bench")
    host.started_by_others("--log-level", "debug")
    before = host.starts
    for _ in range(2):
        run, code = resumed(store, host)
        assert code == 5
        assert "others started the server anew while the run was away" in reason(run)
        assert "(argv); what was measured belongs to that one" in reason(run)
        assert "begin a new run for the server as it is now" in reason(run)
        assert run.ledger.verdict is not None
        assert run.ledger.restored is None
    assert host.starts == before
    assert sum(isinstance(e, ev.ServerSeen) for e in store.kept) == 1


@pytest.mark.slow
def test_where_none_runs_it_can_be_resumed_once_somebody_has_started_it() -> None:
    store, host = killed("bench")
    host.stopped_by_others()
    run, code = resumed(store, host)
    assert code == 5
    assert reason(run).endswith(RESUME), reason(run)
    host.started_by_others()
    run, code = resumed(store, host)
    assert code == 0, reason(run)


class UnderItsHands(Shared):
    """Others restart, or stop, the server in the first benchmarks of the original, or of a test launch."""

    def __init__(self, *extra: str, times: int = 1, stop: bool = False, test: bool = False) -> None:
        super().__init__(World.from_yaml(WORLD))
        self.extra, self.times, self.stop, self.test = extra, times, stop, test

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        if self.times and self._touched is self.test:
            self.times -= 1
            if self.stop:
                self.stopped_by_others()
            elif self.test:
                ready, _ = self._start(self._launch, self.clock.now())
                self.clock.reach(ready)
            else:
                self.started_by_others(*self.extra)
        return super().bench(plan, on_progress)


def under_its_hands(host: SimulatedHost, max_restarts: int = 9) -> tuple[Run, int]:
    run = run_of(host)
    asked = {"symptom": "slower than without speculation", "allow": Risk.RESTART, "requests": 4}
    start(run, RunSettings.model_validate({**asked, "max_restarts": max_restarts}))
    return run, investigate(run, checkpoints=None)


@pytest.mark.slow
def test_a_run_whose_server_is_restarted_under_its_hands_goes_on_and_says_so() -> None:
    run, code = under_its_hands(UnderItsHands())
    assert code == 0, reason(run)
    assert run.ledger.restored is True
    (said,) = times_said(run.ledger)
    assert "runs in its place with the same command line" in said
    assert said.endswith("figures of before belong to another start")
    ended = [a.ended.outcome for a in run.ledger.actions.values() if a.started.what == "bench" and a.ended]
    assert ended[0] == "unknown"
    assert "done" in ended


@pytest.mark.slow
def test_one_that_is_restarted_with_other_words_ends_it_with_what_to_do() -> None:
    run, code = under_its_hands(UnderItsHands("--log-level", "debug"))
    assert code == 5
    assert "others started the server anew in the middle of the run" in reason(run)
    assert "(argv); what was measured belongs to that one" in reason(run)
    assert "begin a new run for the server as it is now" in reason(run)
    assert run.ledger.verdict is not None
    assert run.ledger.restored is None


@pytest.mark.slow
def test_one_that_is_restarted_again_and_again_ends_it() -> None:
    run, code = under_its_hands(UnderItsHands(times=9))
    assert code == 5
    assert "others start the server again and again" in reason(run)
    assert reason(run).endswith(RESUME)
    assert run.ledger.verdict is not None
    assert "others started the server anew in the middle" in dict(run.ledger.verdict.lines)["server"]


@pytest.mark.slow
def test_one_that_is_stopped_ends_it_with_how_it_goes_on() -> None:
    run, code = under_its_hands(UnderItsHands(stop=True))
    assert code == 5
    assert reason(run).endswith(RESUME), reason(run)


@pytest.mark.slow
@pytest.mark.parametrize(("times", "made"), [(1, 2), (9, 2)])
def test_a_test_launch_that_others_restart_is_given_up_and_made_once_more(times: int, made: int) -> None:
    run, code = under_its_hands(UnderItsHands(times=times, test=True))
    assert run.ledger.restored is True
    assert code in (0, 3), reason(run)
    assert any("the test launch is gone" in note.text for note in run.ledger.notes)
    first = run.ledger.relaunches[0].change.key
    assert sum(r.change.key == first for r in run.ledger.relaunches) == made
    assert (run.ledger.measured(first) is not None) is (times == 1)


@pytest.mark.slow
def test_the_number_that_systemd_gives_each_start_is_no_difference() -> None:
    host = SimulatedHost(World.from_yaml(WORLD))
    facts = host.snapshot(SnapshotRequest())
    run = run_of(host)
    start(run, RunSettings(symptom="slow", allow=Risk.READ))
    view = run.set_scene(facts)

    def numbered(**env: str) -> Facts:
        found = tuple(p.model_copy(update={"env": {**p.env, **env}}) for p in facts.processes)
        return facts.model_copy(update={"processes": found})

    one = numbered(INVOCATION_ID="1")
    assert compared(one, view, numbered(INVOCATION_ID="2"), view)["env"]
    assert not compared(one, view, numbered(INVOCATION_ID="1", CUDA_VISIBLE_DEVICES="9"), view)["env"]


class Held(Shared):
    """Another run has begun to hold the server."""

    def snapshot(self, request: SnapshotRequest) -> Facts:
        lease = LeaseFacts(run="r-other", port=30000, who="bob@desk", user="root", since=1.0)
        return super().snapshot(request).model_copy(update={"leases": (lease,)})


@pytest.mark.slow
def test_a_server_that_another_run_holds_is_waited_for_and_no_verdict_is_made_of_it() -> None:
    world, store = World.from_yaml(WORLD), MemoryStore()
    run = run_of(SimulatedHost(world), store=store)
    start(run, RunSettings(symptom="slower than without speculation", requests=4))
    assert investigate(run, checkpoints=None) == 4
    verdict = run.ledger.verdict
    again = run_of(Held(world), store=store)
    resume(again, allow=Risk.LOAD)
    assert investigate(again, checkpoints=None) == 4
    assert "held by specdoctor's run r-other of bob@desk" in reason(again)
    assert f"then: {RESUME}" in reason(again)
    assert again.ledger.verdict == verdict
    row = run_row(store.events("r-test"))
    assert row is not None
    assert row.state == "waits for permission"
