"""Searches for the fastest setting on a virtual clock, through the loop, the policy and the lifecycle of every run."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from typer.testing import CliRunner

from specdoctor.analysis.draft_setting import OFF, grid
from specdoctor.analysis.launches import measured_launches
from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.app.tune_outcome import TuneOutcome, earlier_outcome, outcome_of
from specdoctor.assembly.catalogue import all_engines
from specdoctor.cli.main import app
from specdoctor.cli.tune import _numbers
from specdoctor.core.errors import UsageError
from specdoctor.core.model import Risk
from specdoctor.core.ports import Answer
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.random_world import random_world
from specdoctor.lab.world import World
from specdoctor.planners.tuning import TunePlanner
from specdoctor.render.tuned import tune_document, tune_text
from tests.app.investigating import MemoryStore, Scripted, run_of
from tests.calibration.calibrating import RecordingHost, true_speed

NEVER_PAYS, PAYS = 26, 10


def search(world: World, *, answers: tuple[Answer, ...] = (), **settings: Any) -> Run:
    host = RecordingHost(world.model_copy(update={"history": ()}))
    run = run_of(host, planner=TunePlanner(), approver=Scripted(answers))
    given = {"planner": "tune", "allow": Risk.RESTART, "max_restarts": 7, "requests": 8, **settings}
    start(run, RunSettings.model_validate(given))
    investigate(run, checkpoints=None)
    return run


@functools.cache
def searched(seed: int) -> Run:
    """A whole search, made once; its run is to be read only."""
    return search(random_world(seed))


def outcome(run: Run) -> TuneOutcome:
    return outcome_of(run.store, run.id, engines=all_engines())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [NEVER_PAYS, PAYS])
def test_the_server_is_put_back_and_the_budget_is_kept(seed: int) -> None:
    run = searched(seed)
    assert run.ledger.restored is True
    assert run.ledger.restarts <= 7
    assert outcome(run).tuned.launches == run.ledger.restarts - 1


def test_off_where_nothing_beats_no_speculation() -> None:
    (found,) = outcome(searched(NEVER_PAYS)).tuned.results
    assert found.best == OFF
    assert found.confirmed
    assert "--speculative-num-steps" not in outcome(searched(NEVER_PAYS)).launches[1]


@pytest.mark.slow
def test_a_winner_is_started_anew_after_it_was_chosen_and_its_line_can_be_pasted() -> None:
    run = searched(PAYS)
    (found,) = outcome(run).tuned.results
    assert found.best is not None
    assert found.best.on
    assert found.confirmed
    started = [m for m in found.measured if m.figures.setting == found.best and not m.as_found]
    assert started
    assert found.gain is not None
    assert found.gain.low > 1.0 or found.gain.value > 1.05
    assert f"--speculative-num-steps {found.best.draft_steps}" in outcome(run).launches[1]


@pytest.mark.parametrize("seed", [NEVER_PAYS, PAYS])
def test_what_is_chosen_is_within_two_percent_of_the_best_of_the_grid(seed: int) -> None:
    run = searched(seed)
    assert isinstance(run.operations, RecordingHost)
    plan = run.operations.plan
    assert plan is not None
    world = run.operations.world
    truth = {setting: true_speed(world, setting, plan) for setting in (OFF, *grid())}
    (found,) = outcome(run).tuned.results
    assert found.best is not None
    assert truth[found.best] >= 0.98 * max(truth.values())
    told = [p.throughput for p in found.predicted if p.setting in truth]
    true = [truth[p.setting] for p in found.predicted if p.setting in truth]
    assert sum(t.low <= speed <= t.high for t, speed in zip(told, true, strict=True)) >= 0.9 * len(truth)


def test_the_start_without_speculation_tells_what_more_tokens_cost_and_no_other_load_is_answered_for() -> None:
    run = searched(PAYS)
    wide = [m for m in run.ledger.measurements if m.source == "wide"]
    assert [m.concurrency for m in wide] == [1, 4, 8, 16, 32]
    assert all(not m.spec.on and m.between_chunks is not None for m in wide)
    (off,) = [m for m in measured_launches(run.ledger, 1) if not m.figures.setting.on]
    assert [w.requests for w in off.figures.wide] == [4, 8, 16, 32]
    assert off.figures.wide[-1].slower.value > off.figures.wide[0].slower.value > 1.0
    assert [r.concurrency for r in outcome(run).tuned.results] == [1]


def test_each_launch_had_a_prediction_before_it() -> None:
    run = searched(PAYS)
    for launch in run.ledger.relaunches:
        hypothesis = run.ledger.by_key(f"tune:{launch.change.key}")
        assert hypothesis is not None
        assert hypothesis.prediction is not None
        assert hypothesis.prediction.value is not None


def test_the_document_has_what_machines_are_promised() -> None:
    found = outcome(searched(PAYS))
    document = tune_document(
        found.tuned, run="r", target="t", launches=found.launches, cached=False, reason=found.reason
    )
    assert document["schema"] == "specdoctor.tune/1"
    assert document["launches"] == found.tuned.launches
    (result,) = document["results"]
    assert set(result["best"]) == {"draft_steps", "topk", "draft_tokens"}
    assert {"setting", "throughput_tok_s", "low", "high"} <= set(result["predicted"][0])
    assert len(result["predicted"]) >= 37
    assert any(m["setting"] is None for m in result["measured"])
    text = tune_text(found.tuned, launches=found.launches, cached=False, width=100)
    assert "at concurrency 1" in text
    assert f"{found.tuned.launches} test starts" in text


def test_without_permission_nothing_is_started_and_nothing_is_claimed() -> None:
    run = search(random_world(PAYS), answers=(Answer(granted=False, by="tester"),), allow=Risk.LOAD)
    assert run.ledger.relaunches == []
    (found,) = outcome(run).tuned.results
    assert found.best is None
    assert "without speculation" in found.why
    assert outcome(run).reason


def test_a_budget_of_two_starts_says_what_it_could_not_confirm() -> None:
    run = search(random_world(PAYS), max_restarts=2)
    assert run.ledger.restarts == 2
    (found,) = outcome(run).tuned.results
    assert not found.confirmed or found.best == OFF


def test_an_earlier_answer_in_the_same_state_is_found_and_no_other() -> None:
    run = searched(PAYS)
    assert run.scene is not None
    settings = run.ledger.settings

    def earlier(**changes: Any) -> TuneOutcome | None:
        asked = settings.model_copy(update=changes)
        target = run.operations.target
        return earlier_outcome(run.store, run.scene, asked, target=target, engines=all_engines())  # type: ignore[arg-type]

    same = earlier(max_minutes=9.0)
    assert same is not None
    assert same.cached
    assert same.run == run.id
    assert earlier(concurrencies=(1, 8)) is None
    busy = {**run.scene.view.effective, "internal_states": [{"last": 83.2}], "startup_time": {"s": 4.1}}
    later = run.scene.model_copy(update={"view": run.scene.view.model_copy(update={"effective": busy})})
    assert earlier_outcome(run.store, later, settings, target=run.operations.target, engines=all_engines())
    other = run.scene.facts.host.model_copy(update={"boot_id": "another"})
    scene = run.scene.model_copy(update={"facts": run.scene.facts.model_copy(update={"host": other})})
    assert earlier_outcome(run.store, scene, settings, target=run.operations.target, engines=all_engines()) is None
    assert isinstance(run.store, MemoryStore)


def test_a_list_of_concurrencies() -> None:
    assert _numbers("8, 1,8") == (1, 8)
    assert _numbers(None) is None
    with pytest.raises(UsageError, match="no list of numbers"):
        _numbers("1,x")
    assert CliRunner().invoke(app, ["tune", "--help"]).exit_code == 0
