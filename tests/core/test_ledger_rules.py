"""The ledger refuses what breaks the rules of a run, and folds the same in any split."""

from __future__ import annotations

from typing import Literal

import pytest

from specdoctor.core import events as ev
from specdoctor.core.errors import LedgerError
from specdoctor.core.hypothesis import Hypothesis, Prediction, TodoItem, TodoStatus
from specdoctor.core.launch import LaunchChange, LaunchOutcome, LaunchStatus, RestoreOutcome, RestoreStatus
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.model import Risk, Status
from specdoctor.core.moves import Relaunch
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import ServerRef

CHANGE = LaunchChange(label="without speculation", remove_flags=("--speculative-algorithm",))
Hand = Literal["specdoctor", "guard", "hand"]
NEW = ServerRef(pid=7, start_ticks=70, port=30000)


def started() -> Ledger:
    return fold([ev.RunStarted(run="r1", target="t", settings=RunSettings(), tool_version="0")])


def hypothesis(prediction: bool = True) -> Hypothesis:
    predicts = Prediction(metric="throughput_tok_s", op=">=", value=90.0, under=CHANGE.key) if prediction else None
    return Hypothesis(
        id="H1",
        key="k",
        cause="CFG-3",
        claim="c",
        answers="explains",
        prediction=predicts,
        todo=(TodoItem(id="H1.1", content="launch with more"),),
    )


def relaunch_started(action: str = "A1") -> ev.ActionStarted:
    move = Relaunch(change=CHANGE, hypotheses=("H1",)).model_dump(mode="json")
    return ev.ActionStarted(action=action, what="relaunch", risk=Risk.RESTART, move=move, hypotheses=("H1",))


def evidence(name: str = "E1") -> ev.EvidenceRecorded:
    return ev.EvidenceRecorded(evidence=name, action=None, source="bench", summary="s")


def test_nothing_closes_without_evidence() -> None:
    ledger = started()
    ledger.apply(ev.HypothesisOpened(hypothesis=hypothesis()))
    with pytest.raises(LedgerError, match="without evidence"):
        ledger.apply(ev.HypothesisClosed(hypothesis="H1", status=Status.FALSIFIED, because="b", evidence=()))
    with pytest.raises(LedgerError, match="not recorded"):
        ledger.apply(ev.HypothesisClosed(hypothesis="H1", status=Status.SUPPORTED, because="b", evidence=("E9",)))
    assert ledger.hypotheses["H1"].status is Status.OPEN


def test_a_decided_hypothesis_stays_decided() -> None:
    ledger = fold([evidence(), ev.HypothesisOpened(hypothesis=hypothesis())], started())
    closed = ev.HypothesisClosed(hypothesis="H1", status=Status.FALSIFIED, because="b", evidence=("E1",))
    ledger.apply(closed)
    with pytest.raises(LedgerError, match="already falsified"):
        ledger.apply(closed)


def test_a_restart_needs_a_prediction() -> None:
    ledger = started()
    ledger.apply(ev.HypothesisOpened(hypothesis=hypothesis(prediction=False)))
    with pytest.raises(LedgerError, match="predicts"):
        ledger.apply(relaunch_started())
    assert not ledger.actions


def test_an_action_starts_once_and_ends_once() -> None:
    ledger = fold([ev.HypothesisOpened(hypothesis=hypothesis())], started())
    ledger.apply(relaunch_started())
    with pytest.raises(LedgerError, match="already started"):
        ledger.apply(relaunch_started())
    end = ev.ActionEnded(action="A1", outcome="done", summary="s", duration_s=1.0)
    ledger.apply(end)
    with pytest.raises(LedgerError, match="twice"):
        ledger.apply(end)


def test_changed_from_the_first_moment_of_a_restart_until_proved_restored() -> None:
    ledger = fold([ev.HypothesisOpened(hypothesis=hypothesis())], started())
    assert ledger.restored is None
    ledger.apply(relaunch_started())
    assert ledger.changed
    assert ledger.current_launch is None
    assert ledger.restarts == 1
    ledger.apply(evidence())
    outcome = LaunchOutcome(action="A1", status="ready", server=NEW, downtime_s=9.0)
    ledger.apply(ev.ServerRelaunched(change=CHANGE, spec=None, outcome=outcome, evidence="E1"))
    ledger.apply(ev.ActionEnded(action="A1", outcome="done", summary="s", duration_s=1.0))
    assert ledger.current_launch == CHANGE
    assert ledger.current_server == NEW
    assert ledger.restored is False
    bad = RestoreOutcome(action="A2", status="restored", server=NEW, equal={"argv": True, "env": False})
    ledger.apply(ev.ServerRestored(outcome=bad, evidence="E1"))
    assert ledger.restored is False
    good = bad.model_copy(update={"action": "A3", "equal": {"argv": True, "env": True}})
    ledger.apply(ev.ServerRestored(outcome=good, evidence="E1"))
    assert ledger.restored is True
    assert ledger.restarts == 3
    assert ledger.downtime_s == 9.0


def at(second: float, event: ev.Event) -> ev.Event:
    return event.model_copy(update={"at": second})


def launch_event(status: LaunchStatus, **more: object) -> ev.Event:
    outcome = LaunchOutcome.model_validate({"action": "A1", "status": status, "server": None, "stop_s": 2.0, **more})
    return ev.ServerRelaunched(change=CHANGE, spec=None, outcome=outcome, evidence="E1")


def restore_event(action: str, status: RestoreStatus, *, by: Hand = "specdoctor", **more: object) -> ev.Event:
    outcome = RestoreOutcome.model_validate({"action": action, "status": status, "server": NEW, **more})
    return ev.ServerRestored(outcome=outcome, evidence="E1", started=status in ("restored", "failed"), by=by)


def restoring(action: str) -> ev.Event:
    return ev.ActionStarted(action=action, what="restore", risk=Risk.RESTART, move={})


def down(*events: ev.Event) -> tuple[float, bool]:
    """Seconds without a server, and whether that goes on, after a launch that was ordered at 100 s."""
    before = [ev.HypothesisOpened(hypothesis=hypothesis()), evidence(), at(100.0, relaunch_started())]
    ledger = fold([*before, *events], started())
    return ledger.downtime_s, ledger.still_down


FAILED = at(111.0, launch_event("failed", downtime_s=10.0))
TRIED = (at(120.0, restoring("A2")), at(151.0, restore_event("A2", "failed", downtime_s=30.0)))
END = at(160.0, ev.RunEnded(exit_code=5, reason="r"))


def test_a_server_that_does_not_come_up_again_is_down_to_the_end_of_the_run() -> None:
    assert down(FAILED) == (11.0, True)
    assert down(FAILED, *TRIED) == (51.0, True)
    assert down(FAILED, *TRIED, END) == (60.0, True)
    ready = at(111.0, launch_event("ready", downtime_s=10.0))
    assert down(ready, *TRIED, END) == (10.0 + 40.0, True)


def test_a_restoration_that_was_refused_leaves_a_server_down_that_was_down() -> None:
    stranger = {"words": "port taken", "same": False}
    given_up = at(111.0, launch_event("undone", downtime_s=10.0, other=stranger))
    refused = at(121.0, restore_event("A2", "refused"))
    assert down(given_up, at(120.0, restoring("A2")), refused, END) == (60.0, True)


def test_the_time_down_ends_where_the_server_is_healthy_again() -> None:
    back = (at(170.0, restoring("A3")), at(195.0, restore_event("A3", "restored", downtime_s=20.0)))
    assert down(FAILED, *TRIED, *back, at(300.0, END)) == (90.0, False)
    resumed = (END, at(400.0, ev.RunResumed()))
    later = (at(410.0, restoring("A3")), at(435.0, restore_event("A3", "restored", downtime_s=20.0)))
    assert down(FAILED, *TRIED, *resumed, *later, at(500.0, END)) == (330.0, False)


def test_time_that_nobody_saw_counts_to_the_end_of_the_run_that_left_it_down() -> None:
    resumed = (*TRIED, END, at(4000.0, ev.RunResumed()))
    assert down(FAILED, *resumed, at(4010.0, restore_event("hand", "restored", by="hand"))) == (60.0, False)
    found = (at(4001.0, restoring("A3")), at(4010.0, restore_event("A3", "nothing-to-do")))
    assert down(FAILED, *resumed, *found) == (60.0, False)


def test_what_its_guard_undid_and_what_never_stopped_the_server_is_not_counted_twice() -> None:
    undone = at(300.0, launch_event("undone", downtime_s=10.0))
    assert down(undone) == (10.0, False)
    nothing = at(111.0, launch_event("failed", downtime_s=0.0, stop_s=0.0))
    assert down(nothing, at(160.0, END)) == (0.0, False)


def test_a_refused_stop_changes_nothing() -> None:
    ledger = fold([ev.HypothesisOpened(hypothesis=hypothesis()), relaunch_started(), evidence()], started())
    outcome = LaunchOutcome(action="A1", status="refused", server=None, reason="pid reused")
    ledger.apply(ev.ServerRelaunched(change=CHANGE, spec=None, outcome=outcome, evidence="E1"))
    ledger.apply(ev.ActionEnded(action="A1", outcome="failed", summary="s", duration_s=1.0))
    assert not ledger.changed
    assert ledger.current_launch is not None
    assert ledger.current_launch.is_original
    assert ledger.restarts == 0


def test_todo_items_move_only_where_they_exist() -> None:
    ledger = fold([ev.HypothesisOpened(hypothesis=hypothesis())], started())
    ledger.apply(ev.TodoChanged(hypothesis="H1", todo="H1.1", status=TodoStatus.COMPLETED))
    assert ledger.hypotheses["H1"].todo[0].status is TodoStatus.COMPLETED
    with pytest.raises(LedgerError, match="no todo item"):
        ledger.apply(ev.TodoChanged(hypothesis="H1", todo="H1.9", status=TodoStatus.COMPLETED))


def test_an_answer_needs_a_question() -> None:
    with pytest.raises(LedgerError, match="never asked"):
        started().apply(ev.ApprovalAnswered(batch="B1", granted=True, scope="run", by="me"))


def test_a_yes_for_the_run_covers_its_tier_and_below() -> None:
    ledger = started()
    ledger.apply(ev.ApprovalAsked(batch="B1", risk=Risk.RESTART, text="?"))
    ledger.apply(ev.ApprovalAnswered(batch="B1", granted=True, scope="once", by="me"))
    assert not ledger.granted(Risk.LOAD)
    ledger.apply(ev.ApprovalAnswered(batch="B1", granted=True, scope="run", by="me"))
    assert ledger.granted(Risk.LOAD)
    assert ledger.granted(Risk.RESTART)


def asked_and_answered(risk: Risk, *, granted: bool, scope: Literal["once", "run"] = "once") -> list[ev.Event]:
    return [
        ev.ApprovalAsked(batch="B1", risk=risk, text="may I?"),
        ev.ApprovalAnswered(batch="B1", granted=granted, scope=scope, by="terminal"),
    ]


def test_a_no_holds_until_a_resume_says_anew_what_is_allowed() -> None:
    no = [*asked_and_answered(Risk.LOAD, granted=False), ev.MoveRefused(move="bench", why="not allowed (terminal)")]
    ledger = fold(no, started())
    ledger.apply(ev.RunResumed())
    assert ledger.denied(Risk.LOAD)
    assert ledger.denied(Risk.RESTART)
    assert [r.move for r in ledger.standing_refusals] == ["bench"]
    ledger.apply(ev.RunResumed(allow=Risk.LOAD))
    assert not ledger.denied(Risk.RESTART)
    assert ledger.standing_refusals == []
    assert (ledger.granted(Risk.LOAD), ledger.granted(Risk.RESTART)) == (True, False)


def test_a_resume_may_allow_less_than_before() -> None:
    ledger = fold(asked_and_answered(Risk.RESTART, granted=True, scope="run"), started())
    ledger.apply(ev.RunResumed())
    assert ledger.granted(Risk.RESTART)
    ledger.apply(ev.RunResumed(allow=Risk.READ))
    assert not ledger.granted(Risk.LOAD)
