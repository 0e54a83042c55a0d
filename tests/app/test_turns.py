"""Two launches of one server in turns: A B B A with guard and way back, until it is clear."""

from __future__ import annotations

import pytest

from specdoctor.analysis.turns import TurnsOutcome, turns_outcome
from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.core.launch import LaunchChange
from specdoctor.core.model import Risk, Verdict
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.turns import Turns
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.turns import TurnsPlanner
from specdoctor.render.tables import run_row
from specdoctor.render.verdict import verdict_text
from tests.app.investigating import run_of

B = LaunchChange(label="b", set_flags={"--x": ("1",)})


def taken(turns: Turns, *, allow: Risk = Risk.RESTART, restarts: int = 6) -> Run:
    run = run_of(SimulatedHost(World.from_yaml("kimi-k2.5-eagle3")), planner=TurnsPlanner())
    settings = RunSettings(planner="turns", turns=turns, allow=allow, max_restarts=restarts, requests=4)
    start(run, settings)
    investigate(run, checkpoints=None)
    return run


def test_the_order_is_a_b_b_a_and_each_start_is_its_own() -> None:
    order = Turns(off=True, starts=3).order(B)
    assert [arm for arm, _ in order] == ["first", "second", "second", "first", "first", "second"]
    assert order[0][1].is_original
    assert order[1][1] == B
    assert len({change.key for _, change in order}) == 6
    assert order[3][1].repeats


@pytest.mark.parametrize("given", [{}, {"off": True, "other_install": True}, {"off": True, "set_flags": {"--x": ()}}])
def test_one_other_launch_is_named(given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="name one other launch"):
        Turns.model_validate(given)


@pytest.mark.slow
def test_no_speculation_is_found_faster_over_three_starts_of_each() -> None:
    run = taken(Turns(off=True))
    ledger = run.ledger
    found = turns_outcome(ledger, ledger.relaunches[0].change)
    assert (len(found.first), len(found.second)) == (3, 3)
    assert found.verdict == "better"
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(90.0 / 56.8, rel=0.08)
    assert "starts per arm" in found.power
    assert [r.change.is_original or r.change.repeats for r in ledger.relaunches] == [False, False, True, True, False]
    assert ledger.restored is True
    assert ledger.restarts == 6


def test_a_comparison_that_was_not_made_is_no_answer() -> None:
    ledger = taken(Turns(off=True, starts=1), allow=Risk.LOAD).ledger
    assert ledger.verdict is not None
    assert ledger.verdict.verdict is Verdict.NOT_ENOUGH_EVIDENCE


def test_the_answer_of_the_comparison_is_the_verdict_and_the_exit_code_of_its_run() -> None:
    run = taken(Turns(off=True, starts=1), restarts=2)
    ledger = run.ledger
    assert turns_outcome(ledger, ledger.relaunches[0].change).verdict == "better"
    assert ledger.verdict is not None
    assert ledger.ended is not None
    assert (ledger.verdict.verdict, ledger.ended.exit_code) == (Verdict.ANSWERED, 0)
    assert "is faster than the server as found (1." in ledger.verdict.headline
    row = run_row(run.store.events(run.id))
    assert row is not None
    assert row.state == "answered"
    words = verdict_text(ledger.verdict, width=400)
    assert "symptom" not in words
    assert "what was read and measured does not decide it" not in words
    assert "do now    start it with the next line" in words


@pytest.mark.slow
def test_one_start_of_each_carries_the_spread_between_starts() -> None:
    run = taken(Turns(set_flags={"--speculative-num-steps": ("3",)}, starts=1), restarts=2)
    found = turns_outcome(run.ledger, run.ledger.relaunches[0].change)
    assert found.spread == "5% between starts (assumed)"
    assert found.ratio is not None
    assert found.ratio.width > 0.2
    assert run.ledger.restored is True


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("inconclusive", 5), "--starts 5: so many starts of each"),
        (("inconclusive", 40), "takes 40 starts of each, and at most 12 are made"),
        (("inconclusive", None), "--starts 3"),
    ],
)
def test_what_is_not_clear_has_a_next_step(given: tuple[str, int | None], said: str) -> None:
    verdict, needed = given
    found = TurnsOutcome(first=(), second=(), verdict=verdict, ratio=None, power="", starts_needed=needed)
    assert said in found.next_step
    assert found.model_copy(update={"verdict": "better"}).next_step == ""


@pytest.mark.slow
def test_nothing_is_started_where_it_is_not_allowed() -> None:
    run = taken(Turns(off=True), allow=Risk.LOAD)
    assert run.ledger.relaunches == []
    assert run.ledger.restored is None
