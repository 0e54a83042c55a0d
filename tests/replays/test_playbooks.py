"""The shipped playbooks on practice worlds, through the real graph on a virtual clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.analysis.draft_setting import OFF, chain, grid
from specdoctor.analysis.forecast import Forecast, forecast
from specdoctor.analysis.launches import measured_launches
from specdoctor.app.investigation import investigate, resume, start
from specdoctor.app.run import Run
from specdoctor.assembly.planning import playbook_at
from specdoctor.core.model import Risk, Role, Status
from specdoctor.core.moves import Move
from specdoctor.core.ports import Briefing
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.expectations import Outcome, exit_code, outcomes
from specdoctor.planners.playbook import PlaybookPlanner
from specdoctor.planners.playbook_schema import Playbook
from tests.app.investigating import MemoryStore, run_of, settings_for

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"


def replayed(name: str, world: str, *, allow: Risk | None = None, **values: str) -> tuple[Run, tuple[Outcome, ...]]:
    """A shipped playbook carried out on a world with its parameters, and what came of its expectations."""
    playbook = playbook_at(PLAYBOOKS / f"{name}.yaml", values)
    run = run_of(SimulatedHost(World.from_yaml(world), seed=3), planner=PlaybookPlanner(playbook))
    given = settings_of(playbook, allow)
    start(run, given.model_copy(update={"other_install": settings_for(World.from_yaml(world)).other_install}))
    investigate(run, checkpoints=None)
    return run, outcomes(playbook, run.ledger)


def settings_of(playbook: Playbook, allow: Risk | None) -> RunSettings:
    return RunSettings(
        symptom=playbook.symptom,
        allow=Risk[playbook.allow.upper()] if allow is None else allow,
        planner="playbook",
        max_restarts=playbook.budgets.restarts,
        max_minutes=playbook.budgets.minutes,
        requests=playbook.load.requests,
        concurrency=playbook.load.concurrency,
    )


def test_the_ladder_finds_what_it_expects() -> None:
    run, found = replayed("eagle3-slower-than-baseline", "kimi-k2.5-eagle3")
    assert [o.met for o in found] == [True] * 4, found
    assert exit_code(found) == 0
    assert run.ledger.restored is True
    assert run.ledger.restarts == 3
    assert all(o.evidence for o in found[:3])


@pytest.mark.parametrize("world", ["healthy", "override-is-the-cause", "graphs-off-by-flag"])
def test_the_ladder_does_not_fit_other_faults(world: str) -> None:
    run, found = replayed("eagle3-slower-than-baseline", world)
    assert exit_code(found) == 1, found
    assert run.ledger.restored in (None, True)


def test_a_step_with_nothing_to_undo_is_left_out_and_said() -> None:
    run, found = replayed("eagle3-slower-than-baseline", "healthy")
    assert "draft length as asked" not in {r.change.label for r in run.ledger.relaunches}
    said = [n.text for n in run.ledger.notes]
    assert said == ["draft length as asked: left out, no check found CFG-3 with a change that undoes it"]
    undone = next(o for o in found if o.expected.startswith("hypothesis of"))
    assert undone.met is None
    assert undone.because == said[0]


def test_a_reading_playbook_sends_nothing() -> None:
    run, found = replayed("read-only-checkup", "healthy")
    assert exit_code(found) == 0, found
    assert {a.started.what for a in run.ledger.actions.values()} == {"snapshot", "checks", "watch", "compute"}
    _, unwell = replayed("read-only-checkup", "graphs-off-by-flag")
    assert exit_code(unwell) == 1


def test_the_sweep_measures_each_length_once() -> None:
    run, found = replayed("draft-length-sweep", "override-is-the-cause")
    assert {m.spec.draft_steps for m in run.ledger.measurements if m.source == "bench"} >= {0, 1, 3, 5}
    benches = [m.launch_key for m in run.ledger.measurements if m.source == "bench"]
    assert len(benches) == len(set(benches))
    assert run.ledger.restored is True
    assert exit_code(found) in (0, 1)


def test_a_parameter_says_which_chain_is_tried() -> None:
    run, found = replayed("one-draft-length", "healthy", draft_steps="4")
    assert exit_code(found) == 0, found
    assert [r.change.label for r in run.ledger.relaunches][:2] == ["without speculation", "a chain of 4"]
    assert {m.spec.draft_steps for m in run.ledger.measurements if m.launch == "a chain of 4"} == {4}
    assert run.ledger.restored is True


def test_two_chains_are_measured_and_the_others_follow() -> None:
    run, found = replayed("tune-draft-length", "healthy")
    assert exit_code(found) == 0, found
    assert run.ledger.restored is True
    rows = measured_launches(run.ledger, 1)
    assert {m.figures.setting for m in rows} >= {OFF, chain(2), chain(8)}
    belief = forecast([m.figures for m in rows], grid())
    assert isinstance(belief, Forecast)
    as_found = next(m for m in rows if m.as_found).figures
    assert belief.of(as_found.setting).throughput.value == pytest.approx(as_found.throughput.value, rel=0.03)
    between = [belief.of(chain(k)).cycle_ms for k in (2, 4, 6, 8)]
    assert between == sorted(between)


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("phantom-regression", "phantom-regression"),
        ("verify-without-graphs", "graphs-off-in-verify"),
        ("concurrency-crossover", "batch-crossover"),
    ],
)
def test_a_playbook_holds_on_the_world_that_it_is_written_for(name: str, world: str) -> None:
    run, found = replayed(name, world)
    assert exit_code(found) == 0, found
    assert run.ledger.restored is True
    assert run.ledger.restarts == run.ledger.settings.max_restarts - (name == "concurrency-crossover")
    if name == "concurrency-crossover":
        assert explaining(run) == {"LOAD-1"}


def explaining(run: Run) -> set[str]:
    assert run.ledger.verdict is not None
    return {c.cause for c in run.ledger.verdict.causes if c.status == "supported" and c.role is Role.EXPLAINS}


@pytest.mark.slow
def test_a_tree_whose_chain_loses_in_the_batch_too_is_a_part_of_the_loss() -> None:
    run, found = replayed("concurrency-crossover", "tree-too-wide")
    assert exit_code(found) == 0, found
    assert explaining(run) == {"LOAD-1"}
    assert run.ledger.verdict is not None
    assert {c.cause: c.role for c in run.ledger.verdict.causes}["LOAD-2"] is Role.CONTRIBUTES
    assert [r.change.label for r in run.ledger.relaunches] == ["without speculation", "a chain"]


@pytest.mark.slow
def test_a_fault_whose_undoing_is_among_the_steps_is_in_the_verdict() -> None:
    run, _ = replayed("draft-length-sweep", "override-is-the-cause")
    assert explaining(run) == {"CFG-3"}


@pytest.mark.slow
def test_what_no_step_has_tested_is_not_opened() -> None:
    run, _ = replayed("phantom-regression", "phantom-regression")
    assert not any(h.key.startswith("rival:") for h in run.ledger.hypotheses.values())


def test_without_a_second_installation_nothing_is_launched_for_it() -> None:
    run, found = replayed("phantom-regression", "graphs-off-in-verify")
    assert "the other installation" not in {r.change.label for r in run.ledger.relaunches}
    assert exit_code(found) != 0
    assert any("names no other_install" in note.text for note in run.ledger.notes)


def test_without_permission_it_waits_and_nothing_is_touched() -> None:
    run, found = replayed("eagle3-slower-than-baseline", "kimi-k2.5-eagle3", allow=Risk.READ)
    assert run.ledger.ended is not None
    assert run.ledger.ended.exit_code == 4
    assert run.ledger.restarts == 0
    assert exit_code(found) != 0


def test_a_server_that_is_down_gets_no_step_but_the_checks() -> None:
    run, found = replayed("eagle3-slower-than-baseline", "server-down")
    assert {a.started.what for a in run.ledger.actions.values()} <= {"snapshot", "checks", "compute"}
    assert exit_code(found) == 3


class Stopped(Exception):
    """The process is gone."""


class StoppingPlanner(PlaybookPlanner):
    """Is killed when asked for the move that follows the first restart."""

    def propose(self, briefing: Briefing) -> list[Move]:
        if briefing.ledger.relaunches:
            raise Stopped
        return list(super().propose(briefing))


def test_a_killed_replay_goes_on_where_it_was() -> None:
    playbook = playbook_at(PLAYBOOKS / "eagle3-slower-than-baseline.yaml")
    host, store = SimulatedHost(World.from_yaml("kimi-k2.5-eagle3"), seed=3), MemoryStore()
    killed = run_of(host, store=store, planner=StoppingPlanner(playbook))
    start(killed, settings_of(playbook, None))
    with pytest.raises(Stopped):
        investigate(killed, checkpoints=None)
    again = run_of(host, store=store, planner=PlaybookPlanner(playbook))
    resume(again)
    investigate(again, checkpoints=None)
    assert exit_code(outcomes(playbook, again.ledger)) == 0
    launched = [r.change.label for r in again.ledger.relaunches]
    assert launched == ["without speculation", "draft length as asked"]
    assert again.ledger.restored is True
    assert all(h.status is not Status.OPEN for h in again.ledger.hypotheses.values() if h.prediction)


@pytest.mark.parametrize(
    ("playbook", "world"),
    [
        ("drafter-wiring", "kimi-k2.5-eagle3"),
        ("drafter-wiring", "ids-top-level-ignored"),
        ("drafter-alone", "undertrained"),
        ("acceptance-surface", "healthy-offbyone-convention"),
    ],
)
def test_a_playbook_of_the_drafter_finds_what_it_expects(playbook: str, world: str) -> None:
    run, found = replayed(playbook, world)
    assert exit_code(found) == 0, found
    assert run.ledger.restored in (None, True)


@pytest.mark.parametrize(
    ("playbook", "world"),
    [
        ("drafter-wiring", "undertrained"),
        ("drafter-alone", "kimi-k2.5-eagle3"),
        ("acceptance-surface", "ids-top-level-ignored"),
    ],
)
def test_a_playbook_of_the_drafter_does_not_fit_other_faults(playbook: str, world: str) -> None:
    _, found = replayed(playbook, world)
    assert exit_code(found) == 1, found


def test_prompts_of_one_kind_are_measured_apart_from_the_runs_own() -> None:
    run, _ = replayed("acceptance-surface", "healthy-offbyone-convention")
    measured = {m.launch_key: m.prompt_set for m in run.ledger.measurements if m.source in ("bench", "prompts")}
    kinds = ("chat", "code", "maths", "long", "predictable")
    assert set(measured) == {"original", *(f"original on {kind}" for kind in kinds)}
    assert len(set(measured.values())) == 6
    assert run.ledger.restarts == 0
