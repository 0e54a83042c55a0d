"""Somebody else starts the server while a run restarts it: no further restart, and never "as it was"."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from specdoctor.app.investigation import investigate, start
from specdoctor.app.others import how_it_is, take_note
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.launch import HostState, LaunchOrder, LaunchOutcome, OtherStart, RestoreOrder, RestoreOutcome
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Risk
from specdoctor.core.moves import Relaunch
from specdoctor.core.operations import OnProgress
from specdoctor.core.policy import Refused, decide
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import ServerRef
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.render.lines import event_line
from tests.app.investigating import run_of

SECOND = "somebody else has started the server too, as process 77 (python3; below process 9, keepd)"
WHO = OtherStart(words=SECOND, same=True)
STRANGER = OtherStart(words="port 30000 was taken by process 78 (nginx; ...), which is left alone", same=False)


class Shared(SimulatedHost):
    """A host on which, at a moment, somebody else is seen who starts the server or takes its port."""

    def __init__(self, moment: str, other: OtherStart = WHO) -> None:
        super().__init__(World.from_yaml("graphs-off-by-flag"))
        self.moment, self.other = moment, other

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        made = super().relaunch(order, on_progress)
        if self.moment != "launch":
            return made
        return made.model_copy(
            update={"status": "undone", "server": None, "reason": self.other.words, "other": self.other}
        )

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        made = super().restore(order, on_progress)
        if self.moment == "launch" and self.other.same:
            return made.model_copy(update={"status": "nothing-to-do", "other": self.other})
        return made.model_copy(update={"other": self.other if self.moment in ("launch", "restore") else None})

    def state(self, run: str) -> HostState:
        seen = self.other if self.moment in ("after", "restore") else None
        return super().state(run).model_copy(update={"other": seen})


def investigated(host: Shared) -> tuple[Run, int, str]:
    run = run_of(host)
    start(run, RunSettings(symptom="slower than without speculation", allow=Risk.RESTART, requests=4))
    code = investigate(run, checkpoints=None)
    assert run.ledger.verdict is not None
    return run, code, dict(run.ledger.verdict.lines)["server"]


def refused_again(run: Run, who: str) -> None:
    """A restart is refused from now on, whoever proposes it."""
    made = next(a.started for a in run.ledger.actions.values() if a.started.what == "relaunch")
    refused = decide(Relaunch.model_validate(made.move), run.ledger, run.situation)
    assert isinstance(refused, Refused)
    assert refused.why == f"nothing is restarted any more: {who}"
    assert "find out who does that" in refused.next_step


@pytest.mark.slow
def test_a_server_left_to_somebody_else_is_never_as_it_was_and_nothing_is_restarted_any_more() -> None:
    run, code, state = investigated(Shared("launch"))
    assert code == 5
    assert state.startswith("up, NOT put back by specdoctor: somebody else has started the server too, as process 77")
    assert "find out who starts it" in state
    assert "as it was" not in state
    assert run.ledger.restored is False
    assert not run.ledger.changed
    assert len(run.ledger.relaunches) == 1
    refused_again(run, SECOND)
    assert run.ledger.released, "nothing is left to put back"


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["restore", "after"])
def test_a_second_start_beside_the_one_put_back_is_told(moment: str) -> None:
    run, code, state = investigated(Shared(moment))
    assert code == 5
    assert state.startswith("put back, but not alone: somebody else has started the server too"), state
    assert "as it was" not in state
    assert run.ledger.restored is False
    told = [event_line(e) for e in run.store.events(run.id) if isinstance(e, ev.ServerRestored)]
    assert "not said to be as it was" in str(told[-1])


def told(alive: bool | None, ours_alive: bool | None) -> OtherStart:
    return WHO.model_copy(update={"pid": 77, "alive": alive, "ours_alive": ours_alive})


class Seen:
    """As much of a run as takes note: a ledger with a server that was put back, and what its host tells."""

    id = "r1"

    def __init__(self, other: OtherStart | None, now: OtherStart | None) -> None:
        self.ledger = Ledger()
        server = ServerRef(pid=5, start_ticks=1, port=30000)
        back = RestoreOutcome(action="A1", status="restored", server=server, equal={"argv": True}, other=other)
        self.ledger.restores.append(ev.ServerRestored(outcome=back, evidence="E1"))
        self.operations = SimpleNamespace(state=lambda run: HostState(run=run, way_back=True, other=now))
        self.emitted: list[ev.ServerRestored] = []

    def record(self, **words: object) -> str:
        return "E2"

    def emit(self, event: ev.ServerRestored) -> None:
        self.emitted.append(event)
        self.ledger.restores.append(event)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (told(True, True), "put back, but not alone: somebody else"),
        (told(False, True), "put back, and alone by now: somebody else"),
        (told(True, False), "up, NOT put back by specdoctor: somebody else"),
        (told(False, False), "DOWN: neither the server that was put back nor the other one runs any more: somebody"),
        (told(None, None), "put back, but not alone: somebody else"),
    ],
)
def test_what_is_said_of_a_shared_server_is_what_lives(other: OtherStart, words: str) -> None:
    state = how_it_is(Seen(other, None).ledger)
    assert state.startswith(words)
    assert SECOND in state
    assert "(1 of 1 parts equal)" in state


def test_what_lives_is_looked_at_again_and_told_once() -> None:
    first = told(True, True)
    run = Seen(first, told(True, False))
    assert take_note(cast(Run, run))
    assert how_it_is(run.ledger).startswith("up, NOT put back by specdoctor")
    assert not take_note(cast(Run, run))
    assert not take_note(cast(Run, Seen(first, first)))


def test_a_server_of_which_neither_start_lives_is_not_back() -> None:
    run = Seen(told(True, True), told(False, False))
    assert take_note(cast(Run, run))
    outcome = run.emitted[-1].outcome
    assert (outcome.status, outcome.server) == ("failed", None)
    assert "neither the server that was put back nor the other one runs any more" in outcome.reason


@pytest.mark.slow
def test_a_stranger_who_is_gone_again_leaves_the_server_as_it_was_but_ends_restarts() -> None:
    run, code, state = investigated(Shared("launch", STRANGER))
    assert code in (0, 3)
    assert state.startswith("as it was (")
    assert len(run.ledger.relaunches) == 1
    refused_again(run, STRANGER.words)
