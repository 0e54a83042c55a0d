"""Whole investigations with a language model in the loop: whatever it answers, the verdict is that of the rules."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from specdoctor.app.run import Run
from specdoctor.core.model import Verdict
from specdoctor.lab.world import World
from tests.app.investigating import simulated
from tests.app.test_worlds import OWN_SERVERS
from tests.planners.asking import KEY, advised, endpoint_of
from tests.planners.model_server import ModelServer, Script
from tests.planners.scripts import good, looping, repeating, sloppy

MOST_PROMPT, MOST_ANSWER = 15_000, 2_000
QUICK = "power-capped"
"""A world with a cause, two restarts and little to calculate."""
SLOPPY = {
    **{f"mistakes from {first}": sloppy(first) for first in range(0, 15, 3)},
    "loop": looping,
    "repeats": repeating,
}


def outcome(run: Run) -> tuple[object, ...]:
    """What a run came to. Ids of evidence and sampled figures shift when the model looked on once more."""
    reached = run.ledger.verdict
    assert reached is not None
    advice = reached.recommendation
    causes = [(c.cause, c.status, c.role) for c in reached.causes]
    return reached.verdict, causes, advice and (advice.launch, advice.rollback, advice.basis)


def spent(run: Run) -> tuple[int, int]:
    calls = run.ledger.model_calls
    return sum(c.prompt_tokens for c in calls), sum(c.completion_tokens for c in calls)


def check_good(name: str, mode: Literal["llm", "auto"]) -> Run:
    with ModelServer(good) as server:
        run, code = advised(World.from_yaml(name), server, mode=mode)
    alone, alone_code = simulated(name)
    assert outcome(run) == outcome(alone) or outcome(alone)[0] is Verdict.NOT_ENOUGH_EVIDENCE
    if outcome(run)[0] is not outcome(alone)[0]:
        assert outcome(run)[0] is World.from_yaml(name).truth.verdict, "only a right answer may be another one"
    else:
        assert code == alone_code
    prompt, answer = spent(run)
    assert prompt <= MOST_PROMPT
    assert answer <= MOST_ANSWER
    assert len(server.asked) == len(run.ledger.model_calls), "no question without its event"
    assert all(call.outcome == "used" for call in run.ledger.model_calls)
    return run


def check_sloppy(name: str, script: Script, mode: Literal["llm", "auto"]) -> Run:
    with ModelServer(script) as server:
        run, code = advised(World.from_yaml(name), server, mode=mode)
    alone, alone_code = simulated(name)
    assert outcome(run) == outcome(alone)
    assert code == alone_code
    assert run.ledger.restored in (None, True)
    assert run.ledger.restarts <= run.ledger.settings.max_restarts
    assert run.ledger.model_tokens <= endpoint_of(server).max_tokens
    for call in run.ledger.model_calls:
        assert call.outcome in ("used", "failed") or run.ledger.proposals_refused, "a refusal stands in the record"
    return run


def test_a_good_model_leaves_the_verdict_as_it_is() -> None:
    run = check_good(QUICK, "llm")
    assert run.ledger.model_calls, "it is asked"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["llm", "auto"])
@pytest.mark.parametrize("name", OWN_SERVERS)
def test_a_good_model_in_every_world(name: str, mode: Literal["llm", "auto"]) -> None:
    check_good(name, mode)


@pytest.mark.slow
def test_every_mistake_is_refused_with_its_reason_and_the_rules_go_on() -> None:
    run = check_sloppy(QUICK, sloppy(0), "llm")
    assert [(r.proposal[:40], r.why.partition(";")[0][:30]) for r in run.ledger.proposals_refused] == [
        ('{"do": "run_check", "check": "layer-wirn', 'unknown check "layer-wirng"'),
        ('{"proposals": [{"do": "finish"', "no JSON with proposals was fou"),
        ('{"do": "open_hypothesis", "cause": "WIRE', 'unknown cause "WIRE-99"'),
        ("(empty answer)", "no JSON with proposals was fou"),
        ("(all further ones)", "2 turns in a row without a usa"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["llm", "auto"])
@pytest.mark.parametrize("habit", SLOPPY)
@pytest.mark.parametrize("name", ["off-by-one", "undertrained", "healthy", "graphs-off-in-verify", QUICK])
def test_no_mistake_changes_the_verdict(name: str, habit: str, mode: Literal["llm", "auto"]) -> None:
    check_sloppy(name, SLOPPY[habit], mode)


def test_a_budget_that_is_spent_ends_the_questions_and_not_the_run() -> None:
    with ModelServer(good) as server:
        run, code = advised(World.from_yaml(QUICK), server, endpoint=endpoint_of(server, max_tokens=6_000))
    assert code == 0
    assert len(server.asked) == 1
    assert run.ledger.model_tokens <= 6_000
    assert "budget: " in run.ledger.proposals_refused[-1].why
    assert outcome(run) == outcome(simulated(QUICK)[0])


def test_nobody_who_answers_is_no_hindrance() -> None:
    with ModelServer(good) as server:
        endpoint = endpoint_of(server)
    run, code = advised(World.from_yaml(QUICK), server, endpoint=endpoint)
    assert code == 0
    assert {call.outcome for call in run.ledger.model_calls} == {"failed"}
    assert len(run.ledger.model_calls) == 2, "after two turns without an answer it is left alone"
    assert outcome(run) == outcome(simulated(QUICK)[0])


def test_the_key_goes_out_in_its_header_and_nowhere_else() -> None:
    with ModelServer(good) as server:
        run, _ = advised(World.from_yaml(QUICK), server)
    assert all(asked.headers["authorization"] == f"Bearer {KEY}" for asked in server.asked)
    assert not any(KEY in asked.raw for asked in server.asked)
    assert not any(KEY in event.model_dump_json() for event in run.store.events(run.id))


def test_prompts_begin_alike_and_hold_no_raw_text() -> None:
    with ModelServer(good) as server:
        run, _ = advised(World.from_yaml(QUICK), server)
    first = [json.dumps(asked.body["messages"][0]) for asked in server.asked]
    assert len(set(first)) == 1, "the first message is the same in every turn"
    assert run.scene is not None
    argv = " ".join(run.scene.view.argv)
    assert argv
    for asked in server.asked:
        assert argv not in asked.words
        assert len(asked.words) < 14_000
        told = [json.loads(line.partition(": ")[2]) for line in asked.words.splitlines() if '"says": ' in line]
        assert len({(row["cause"], row["says"]) for row in told}) == len(told), "nothing is said twice"
        listed = [json.loads(line.partition(": ")[2]) for line in asked.words.splitlines() if '"asks": ' in line]
        assert not any(row.keys() & {"predicts", "decided by"} for row in listed if row["status"] != "open")
        assert not any(row.get("because", "-") in row["claim"] for row in listed)
