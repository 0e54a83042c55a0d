"""A person at the desk of a whole investigation: what they type becomes events, and policy still decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from specdoctor.app.attending import attend
from specdoctor.app.investigation import investigate, resume, start
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core import wishes
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.model import Risk, Status
from specdoctor.core.wishes import Request
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.person import PersonFirst
from specdoctor.planners.rules import RulePlanner
from tests.app.investigating import MemoryStore, run_of, settings_for

WORLD = "kimi-k2.5-eagle3"
Moment = tuple[Callable[[Ledger], bool], Request]


class Script:
    """A desk whose person types each wish once its moment has come; `yes` answers every question."""

    attended = True
    who = "ann@desk"

    def __init__(self, moments: Sequence[Moment], *, yes: bool = True) -> None:
        self.run: Run | None = None
        self.said: list[str] = []
        self._moments = list(moments)
        self._yes = yes
        self._answered: set[str] = set()

    def next(self, *, within_s: float) -> Request | None:
        assert self.run is not None
        ledger = self.run.ledger
        if self._moments and self._moments[0][0](ledger):
            return self._moments.pop(0)[1]
        answered = {a.batch for a in ledger.answers} | self._answered
        waiting = [b for b in ledger.batches if b not in answered]
        if within_s and waiting and not ledger.paused:
            self._answered.add(waiting[-1])
            return wishes.Reply(batch=waiting[-1], granted=self._yes)
        assert not (ledger.paused and within_s and not self._moments), "paused for ever"
        return None

    def say(self, text: str) -> None:
        self.said.append(text)

    @property
    def done(self) -> bool:
        return not self._moments


def driven(desk: Script, *, allow: Risk = Risk.RESTART, store: MemoryStore | None = None) -> tuple[Run, int]:
    world = World.from_yaml(WORLD)
    run = run_of(SimulatedHost(world), store=store, planner=PersonFirst(RulePlanner(), checks=["layer-wiring"]))
    run.desk, desk.run = desk, run
    start(run, settings_for(world, allow=allow, max_restarts=6), by="ann@desk")
    return run, investigate(run, checkpoints=None)


def kept(run: Run) -> list[ev.Event]:
    return list(run.store.events(run.id))


def listed(name: str) -> Callable[[Ledger], bool]:
    return lambda ledger: name in ledger.hypotheses


def measured(ledger: Ledger) -> bool:
    return ledger.measured("original") is not None


def any_time(ledger: Ledger) -> bool:
    return True


TYPED = "we call it with key=abcd1234efgh or --api-key sk-foo, bearer xyz7; token 5 is slow, 57 tok/s"


def test_no_event_keeps_a_secret_that_somebody_types() -> None:
    claim = wishes.ClaimWish(text=TYPED, cause="WIRE-1")
    requests = [
        wishes.Note(text=TYPED),
        wishes.Told(text=TYPED),
        wishes.Asked(text=TYPED, wish=claim),
        wishes.Asked(text=f"/add {TYPED}", wish=claim),
    ]
    desk = Script([(any_time, request) for request in requests])
    run = run_of(SimulatedHost(World.from_yaml(WORLD)))
    run.desk, desk.run = desk, run
    start(run, settings_for(World.from_yaml(WORLD)), by="ann@desk")
    attend(run)
    typed = [event.model_dump_json() for event in kept(run) if getattr(event, "by", "") == "ann@desk"][1:]
    assert len(typed) == len(requests)
    for event in typed:
        assert not any(secret in event for secret in ("abcd1234efgh", "sk-foo", "xyz7"))
        assert "token 5 is slow, 57 tok/s" in event


@pytest.mark.slow
def test_notes_priors_and_drops_are_kept_and_the_verdict_rests_on_evidence() -> None:
    desk = Script(
        [
            (any_time, wishes.Note(text="the fans are loud; api_key: abc123def")),
            (listed("H3"), wishes.Prior(hypothesis="H3", prior=0.9)),
            (listed("H3"), wishes.Drop(hypothesis="H3", why="later")),
            (measured, wishes.Told(text="62 tok/s at best")),
            (measured, wishes.TakeUp(hypothesis="H3")),
            (measured, wishes.Drop(hypothesis="H1")),
            (measured, wishes.Prior(hypothesis="H99", prior=0.1)),
        ]
    )
    run, code = driven(desk)
    assert (code, desk.done) == (0, True)
    assert run.ledger.verdict is not None
    assert run.ledger.verdict.headline.startswith("WIRE-1")
    events = kept(run)
    (note,) = [e for e in events if isinstance(e, ev.NoteAdded) and e.by == "ann@desk"]
    assert "fans" in note.text
    assert "abc123def" not in note.text
    parked = [e for e in events if isinstance(e, ev.HypothesisClosed) and e.hypothesis == "H3"]
    assert [e.status for e in parked] == [Status.PARKED, Status.FALSIFIED]
    assert parked[0].because == "dropped by ann@desk: later"
    assert any("62" in claim.text for claim in run.ledger.claims)
    assert desk.said == ["H1 is supported by evidence; that cannot be dropped", "no hypothesis H99"]
    assert fold(events).priors_set == run.ledger.priors_set == {"H3": 0.9}


@pytest.mark.slow
def test_a_pause_holds_the_run_before_its_next_move() -> None:
    moments: list[Moment] = [
        (measured, wishes.Hold(on=True)),
        (lambda ledger: ledger.paused, wishes.Note(text="looking")),
        (lambda ledger: bool(ledger.notes), wishes.Hold(on=False)),
    ]
    run, code = driven(Script(moments))
    assert code == 0
    kinds = [e.kind for e in kept(run)]
    held = kinds[kinds.index("pause.set") : len(kinds) - kinds[::-1].index("pause.set")]
    assert "note.added" in held
    assert "action.started" not in held


@pytest.mark.slow
def test_a_restart_that_a_person_asks_for_is_measured_first_asked_about_and_put_back() -> None:
    asked = wishes.Asked(
        text="/relaunch draft_steps=5", wish=wishes.RelaunchWish(launch=wishes.LaunchWish(draft_steps=5))
    )
    run, code = driven(Script([(any_time, asked)]), allow=Risk.READ)
    assert code in (0, 3)
    ledger = run.ledger
    assert ledger.asks == {}
    own = next(h for h in ledger.hypotheses.values() if h.key.startswith("person:launch:"))
    assert (own.cause, own.answers) == (None, "exists")
    assert own.prediction is not None
    assert ledger.measured(own.prediction.under) is not None
    launch = next(a.started for a in ledger.actions.values() if a.started.what == "relaunch")
    assert launch.why == "asked for by a person (Q1)"
    first_bench = next(e for e in kept(run) if isinstance(e, ev.ActionStarted) and e.what == "bench")
    assert first_bench.at <= launch.at
    assert {a.by for a in ledger.answers} == {"ann@desk"}
    assert ledger.restored is True


@pytest.mark.slow
def test_a_no_answers_the_wish_and_nothing_is_started() -> None:
    asked = wishes.Asked(text="/run bench", wish=wishes.CheckWish(check="bench"))
    run, _ = driven(Script([(any_time, asked)], yes=False), allow=Risk.READ)
    (answer,) = [e for e in kept(run) if isinstance(e, pe.MoveAnswered)]
    assert (answer.ask, answer.why) == ("Q1", "not allowed (ann@desk)")
    assert {a.started.risk for a in run.ledger.actions.values()} == {Risk.READ}


@pytest.mark.slow
def test_what_cannot_be_done_is_answered_with_its_reason() -> None:
    launch = wishes.LaunchWish(draft_steps=2, draft_tokens=9)
    wish = wishes.RelaunchWish(launch=launch)
    unknown = wishes.CheckWish(check="nonsense")
    desk = Script([(any_time, wishes.Asked(text="x", wish=wish)), (any_time, wishes.Asked(text="y", wish=unknown))])
    run, _ = driven(desk)
    said = [e.why for e in kept(run) if isinstance(e, pe.MoveAnswered)]
    assert said[0] == "not done: 2 steps with topk 1 give 3 tokens to verify, not 9"
    assert said[1].startswith('not done: unknown check "nonsense"')


@pytest.mark.slow
def test_a_claim_is_opened_with_its_prediction_tested_and_names_no_cause() -> None:
    told = wishes.Foretelling(metric="throughput_tok_s", op=">=", value=500.0, launch=wishes.LaunchWish(draft_steps=3))
    claim = wishes.Asked(text="3 steps", wish=wishes.ClaimWish(text="3 steps give 500 tok/s", foretold=told))
    run, code = driven(Script([(any_time, claim)]))
    assert code == 0
    h = run.ledger.by_key("person:Q1")
    assert h is not None
    assert h.prediction is not None
    assert h.prediction.value_from == "by a person"
    assert h.status is Status.FALSIFIED
    assert run.ledger.verdict is not None
    assert run.ledger.verdict.headline.startswith("WIRE-1")
    assert all("500" not in c.claim for c in run.ledger.verdict.causes)
    assert run.ledger.restored is True


@pytest.mark.slow
def test_a_paused_run_waits_for_its_person_after_a_kill() -> None:
    store = MemoryStore()

    class Killed(Exception):
        pass

    def kill(ledger: Ledger) -> bool:
        raise Killed

    moments: list[Moment] = [
        (measured, wishes.Hold(on=True)),
        (lambda ledger: ledger.paused, wishes.Asked(text="/run watch", wish=wishes.CheckWish(check="watch"))),
        (kill, wishes.Note(text="never")),
    ]
    with pytest.raises(Killed):
        driven(Script(moments), store=store)
    again = run_of(SimulatedHost(World.from_yaml(WORLD)), store=store, planner=PersonFirst(RulePlanner(), checks=[]))
    resume(again)
    assert (again.ledger.paused, list(again.ledger.asks)) == (True, ["Q1"])
    assert investigate(again, checkpoints=None) == 4
    assert again.ledger.ended is not None
    assert again.ledger.ended.reason.startswith("paused by ann@desk; go on at a terminal")
    last = run_of(SimulatedHost(World.from_yaml(WORLD)), store=store, planner=PersonFirst(RulePlanner(), checks=[]))
    desk = Script([(lambda ledger: ledger.paused, wishes.Hold(on=False))])
    last.desk, desk.run = desk, last
    resume(last)
    assert investigate(last, checkpoints=None) == 0
    assert any(a.started.why == "asked for by a person (Q1)" for a in last.ledger.actions.values())
