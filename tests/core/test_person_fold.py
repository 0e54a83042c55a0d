"""What a person does, as events: the ledger remembers it, ranks by it, and decides nothing by it."""

from __future__ import annotations

import pytest

from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core import wishes
from specdoctor.core.errors import LedgerError
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.launch import LaunchChange
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.model import Risk, Status
from specdoctor.core.run_settings import RunSettings
from specdoctor.planners.experiments import Experiment, as_ranked

WISH = wishes.RelaunchWish(launch=wishes.LaunchWish(draft_steps=5))
ASKED = pe.MoveAsked(ask="Q1", text="/relaunch draft_steps=5", wish=WISH, by="ann")


def opened(name: str = "H1", *, key: str = "k") -> ev.HypothesisOpened:
    claim = Hypothesis(id=name, key=key, cause=None, claim="it is slow", answers="exists", prediction=None)
    return ev.HypothesisOpened(hypothesis=claim)


def begun(*events: ev.Event) -> Ledger:
    settings = RunSettings(symptom="slow")
    return fold([ev.RunStarted(run="r1", target="t", settings=settings, tool_version="1"), opened(), *events])


def dropped(by: str = "ann") -> ev.HypothesisClosed:
    return ev.HypothesisClosed(hypothesis="H1", status=Status.PARKED, because=f"dropped by {by}", evidence=())


def test_a_symptom_joins_what_the_run_was_begun_with() -> None:
    ledger = begun(pe.SymptomTold(text="57 tok/s, 90 without", by="ann"))
    assert ledger.settings.symptom == "slow; 57 tok/s, 90 without"


def test_a_prior_ranks_and_leaves_the_claim_open() -> None:
    ledger = begun(pe.PriorSet(hypothesis="H1", prior=0.8, by="ann"))
    assert (ledger.hypotheses["H1"].prior, ledger.hypotheses["H1"].status) == (0.8, Status.OPEN)
    assert ledger.priors_set == {"H1": 0.8}


def test_what_was_dropped_is_undecided_and_can_be_taken_up_again() -> None:
    ledger = begun(dropped())
    assert ledger.hypotheses["H1"].status is Status.PARKED
    ledger.apply(pe.HypothesisTakenUp(hypothesis="H1", by="ann"))
    assert ledger.hypotheses["H1"].status is Status.OPEN
    with pytest.raises(LedgerError, match="only what was set aside"):
        ledger.apply(pe.HypothesisTakenUp(hypothesis="H1", by="ann"))


def test_nobody_decides_by_word_alone() -> None:
    ledger = begun()
    with pytest.raises(LedgerError, match="without evidence"):
        ledger.apply(ev.HypothesisClosed(hypothesis="H1", status=Status.FALSIFIED, because="ann says so", evidence=()))


def test_a_pause_outlives_the_process() -> None:
    ledger = begun(pe.PauseSet(paused=True, by="ann"), ev.RunResumed())
    assert ledger.paused
    ledger.apply(pe.PauseSet(paused=False, by="bob"))
    assert not ledger.paused


def test_a_wish_waits_until_its_action_starts() -> None:
    ledger = begun(ASKED)
    assert list(ledger.asks) == ["Q1"]
    started = ev.ActionStarted(action="A1", what="bench", risk=Risk.LOAD, move={}, why="for another reason")
    ledger.apply(started)
    assert list(ledger.asks) == ["Q1"]
    ledger.apply(started.model_copy(update={"action": "A2", "why": ASKED.mark}))
    assert (ledger.asks, list(ledger.asked), ledger.next_id("Q")) == ({}, ["Q1"], "Q2")


def test_a_wish_is_settled_by_its_hypothesis_or_its_answer() -> None:
    assert begun(ASKED, opened("H2", key=ASKED.key)).asks == {}
    assert begun(ASKED, pe.MoveAnswered(ask="Q1", why="not allowed")).asks == {}
    with pytest.raises(LedgerError, match="does not wait"):
        begun(pe.MoveAnswered(ask="Q1", why="?"))


@pytest.mark.parametrize(
    ("asked", "scope", "load", "restart"),
    [
        (Risk.RESTART, "once", False, False),
        (Risk.RESTART, "kind", False, True),
        (Risk.RESTART, "run", True, True),
        (Risk.LOAD, "kind", True, False),
        (Risk.LOAD, "run", True, False),
    ],
)
def test_how_far_a_yes_reaches(asked: Risk, scope: str, load: bool, restart: bool) -> None:
    answered = ev.ApprovalAnswered.model_validate({"batch": "B1", "granted": True, "scope": scope, "by": "ann"})
    ledger = begun(ev.ApprovalAsked(batch="B1", risk=asked, text="?"), answered)
    assert (ledger.granted(Risk.LOAD), ledger.granted(Risk.RESTART)) == (load, restart)


def test_every_word_survives_the_store() -> None:
    words: list[ev.Event] = [
        pe.SymptomTold(text="slow", by="ann"),
        pe.PriorSet(hypothesis="H1", prior=0.8, by="ann"),
        pe.HypothesisTakenUp(hypothesis="H1", by="ann"),
        pe.PauseSet(paused=True, by="ann"),
        ASKED,
        pe.MoveAnswered(ask="Q1", why="no"),
    ]
    assert [ev.event_from_json(ev.event_to_json(e)) for e in words] == words


def test_what_is_held_for_likelier_is_tested_first() -> None:
    def test_of(name: str) -> Experiment:
        return Experiment(change=LaunchChange(label=name), hypotheses=(name,), why="?")

    ledger = begun(opened("H2", key="l"), opened("H3", key="m"))
    tests = [test_of("H1"), test_of("H2"), test_of("H3")]
    assert as_ranked(ledger, tests) == tests
    ledger.apply(pe.PriorSet(hypothesis="H3", prior=0.8, by="ann"))
    ledger.apply(pe.PriorSet(hypothesis="H1", prior=0.1, by="ann"))
    assert [e.hypotheses for e in as_ranked(ledger, tests)] == [("H3",), ("H2",), ("H1",)]
