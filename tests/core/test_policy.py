"""What may be done: budget, traffic, keeper, predictions, nothing twice."""

from __future__ import annotations

import pytest

from specdoctor.core import events as ev
from specdoctor.core.hypothesis import Hypothesis, Prediction
from specdoctor.core.launch import LaunchChange, LaunchOutcome
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.model import Risk
from specdoctor.core.moves import Bench, Move, Relaunch, Restore, Snapshot, Watch
from specdoctor.core.policy import Accepted, Refused, Situation, decide
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import Keeper

PLAIN = Keeper(kind="plain", restartable=True)
DOCKER = Keeper(kind="docker", restartable=False, reason="kept by docker", by_hand="docker stop x")
CHANGE = LaunchChange(label="off", remove_flags=("--speculative-algorithm",))
MOVE = Relaunch(change=CHANGE, hypotheses=("H1",))
QUIET = Situation(keeper=PLAIN, foreign_requests=0, now=0.0)

OWN = QUIET.model_copy(update={"foreign_requests": 3, "own_load": "benchmark A6 of run 7f3c (process 9)"})


def ledger(**settings: object) -> Ledger:
    prediction = Prediction(metric="throughput_tok_s", op=">", value=1.0, under=CHANGE.key)
    opened = Hypothesis(id="H1", key="k", cause=None, claim="c", answers="symptom", prediction=prediction)
    start = ev.RunStarted(run="r", target="t", settings=RunSettings.model_validate(settings), tool_version="0")
    return fold([start, ev.HypothesisOpened(hypothesis=opened)])


def test_reading_is_always_allowed_and_the_rest_asks() -> None:
    assert decide(Snapshot(), ledger(), QUIET) == Accepted(needs_approval=False)
    assert decide(Bench(), ledger(), QUIET) == Accepted(needs_approval=True)
    assert decide(MOVE, ledger(), QUIET) == Accepted(needs_approval=True)
    assert decide(MOVE, ledger(allow=Risk.LOAD), QUIET) == Accepted(needs_approval=True)
    assert decide(MOVE, ledger(allow=Risk.RESTART), QUIET) == Accepted(needs_approval=False)


def test_putting_back_never_waits_for_a_yes() -> None:
    assert decide(Restore(), ledger(), QUIET) == Accepted(needs_approval=False)


@pytest.mark.parametrize(
    ("move", "settings", "situation", "why"),
    [
        (MOVE, {}, Situation(keeper=DOCKER), "kept by docker"),
        (MOVE, {}, Situation(keeper=None), "nothing is known"),
        (MOVE, {"max_restarts": 1}, QUIET, "restart budget"),
        (MOVE, {"max_minutes": 1.0}, QUIET.model_copy(update={"now": 120.0}), "time budget"),
        (MOVE, {}, QUIET.model_copy(update={"foreign_requests": 3}), "requests of others"),
        (Bench(), {}, QUIET.model_copy(update={"foreign_requests": 3}), "requests of others"),
        (Bench(), {}, OWN, "this server is loaded by specdoctor's own benchmark A6 of run 7f3c"),
        (MOVE, {"with_traffic": True}, OWN, "this server is loaded by specdoctor's own benchmark A6 of run 7f3c"),
        (Bench(launch_key="other"), {}, QUIET, "not the one to be measured"),
        (Relaunch(change=CHANGE), {}, QUIET, "open hypothesis"),
        (MOVE, {}, QUIET.model_copy(update={"unable": "no Python there"}), "no Python there"),
        (Bench(), {}, QUIET.model_copy(update={"unable": "no Python there"}), "no Python there"),
        (Watch(), {}, QUIET.model_copy(update={"unable": "no Python there"}), "no Python there"),
    ],
)
def test_refusals_say_why(move: Move, settings: dict[str, object], situation: Situation, why: str) -> None:
    outcome = decide(move, ledger(**settings), situation)
    assert isinstance(outcome, Refused)
    assert why in outcome.why


def test_traffic_can_be_allowed() -> None:
    busy = QUIET.model_copy(update={"foreign_requests": 3})
    assert isinstance(decide(Bench(), ledger(with_traffic=True), busy), Accepted)


def test_no_launch_is_made_twice() -> None:
    known = ledger()
    evidence = ev.EvidenceRecorded(evidence="E1", action=None, source="relaunch", summary="s")
    outcome = LaunchOutcome(action="A1", status="failed", server=None)
    tried = ev.ServerRelaunched(change=CHANGE, spec=None, outcome=outcome, evidence="E1")
    refused = decide(MOVE, fold([evidence, tried], known), QUIET)
    assert isinstance(refused, Refused)
    assert "already tried" in refused.why
