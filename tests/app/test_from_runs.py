"""Playbooks made from runs: they are read back as they were written, and a replay elsewhere names what differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specdoctor.analysis.divergence import Divergence, diverged
from specdoctor.analysis.recording import lasting
from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.assembly.judging import recorded_run
from specdoctor.assembly.planning import playbook_at
from specdoctor.core.errors import UsageError
from specdoctor.core.model import Risk
from specdoctor.core.ports import Briefing
from specdoctor.core.recorded import Recorded
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.expectations import exit_code, outcomes
from specdoctor.planners.playbook import PlaybookPlanner
from specdoctor.planners.playbook_schema import Playbook, RelaunchStep, RestoreStep
from specdoctor.planners.playbook_text import playbook_text
from specdoctor.planners.playbook_writing import Written, playbook_of
from specdoctor.render.divergence import divergence_text, headline
from tests.app.investigating import run_of, simulated

pytestmark = pytest.mark.slow

WORLD = "graphs-off-by-flag"


def recorded(run: Run) -> tuple[Briefing, Recorded]:
    return recorded_run(list(run.store.events(run.id)), lambda name: run.store.artefact(run.id, name))


def written(name: str, **settings: Any) -> Written:
    run, _ = simulated(name, **settings)
    return playbook_of(*recorded(run))


def replayed(book: Playbook, world: World) -> tuple[Run, Divergence]:
    run = run_of(SimulatedHost(world, seed=3), planner=PlaybookPlanner(book))
    settings = RunSettings(
        symptom=book.symptom,
        allow=Risk[book.allow.upper()],
        planner="playbook",
        max_restarts=book.budgets.restarts,
        requests=book.load.requests,
        concurrency=book.load.concurrency,
    )
    start(run, settings)
    investigate(run, checkpoints=None)
    assert book.recorded is not None
    return run, diverged(book.recorded, recorded(run)[1], launch_sd=0.05)


def test_a_written_playbook_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    made = written(WORLD)
    path = tmp_path / "from.yaml"
    path.write_text(playbook_text(made), encoding="utf-8")
    assert playbook_at(path) == made.playbook
    kinds = [next(iter(step.model_dump())) for step in made.playbook.steps]
    assert kinds.count("relaunch") == 2
    assert kinds[-1] == "restore"
    changes = [s.change for s in made.playbook.steps if hasattr(s, "change")]
    assert [c.model_dump(exclude_none=True, exclude_defaults=True) for c in changes] == [
        {"off": True},
        {"undo": "CFG-5"},
    ], "in the words that mean the same on another host"


def test_the_same_host_again_does_as_it_did() -> None:
    book = written(WORLD).playbook
    run, found = replayed(book, World.from_yaml(WORLD))
    assert exit_code(outcomes(book, run.ledger)) == 0
    assert headline(found) == "nothing differs beyond noise"
    assert found.figures
    assert not found.any


def with_power(world: World) -> World:
    gpus = world.gpus.model_copy(
        update={"power_limit_w": 350.0, "clock_sm_mhz": 1140, "throttle_reasons": "0x0000000000000004"}
    )
    physics = world.physics.model_copy(update={"gpu_factor": 1.6})
    return world.model_copy(update={"gpus": gpus, "physics": physics})


def with_package(world: World) -> World:
    packages = {**world.engine.packages, "sglang-kernel": "0.4.1"}
    return world.model_copy(update={"engine": world.engine.model_copy(update={"packages": packages})})


def with_flag(world: World) -> World:
    argv = (*world.launch.argv, "--disable-overlap-schedule")
    return world.model_copy(update={"launch": world.launch.model_copy(update={"argv": argv})})


def without_flag(world: World) -> World:
    argv = tuple(word for word in world.launch.argv if word != "--disable-cuda-graph")
    return world.model_copy(update={"launch": world.launch.model_copy(update={"argv": argv})})


@pytest.mark.parametrize(
    ("change", "named", "slower"),
    [
        (with_power, "gpu.power_limit_w: 700.00 then, 350.00 now", "CUDA graphs on"),
        (with_package, "package.sglang-kernel: 0.4.2.post2 then, 0.4.1 now", ""),
        (with_flag, "args.disable_overlap_schedule: false then, true now", ""),
        (without_flag, "args.disable_cuda_graph: true then, false now", None),
    ],
)
def test_one_thing_that_was_changed_is_named(change: Callable[[World], World], named: str, slower: str | None) -> None:
    book = written(WORLD).playbook
    _, found = replayed(book, change(World.from_yaml(WORLD)))
    assert book.recorded is not None
    assert named in headline(found)
    text = divergence_text(book.recorded, found, width=100)
    assert f"differs   {named}" in text
    if slower is not None:
        assert {f.launch for f in found.beyond_noise if f.part.name == "throughput"} == ({slower} if slower else set())


@pytest.mark.parametrize(
    "world", ["kimi-k2.5-eagle3", "phantom-regression", "request-cap-48", "undertrained", "healthy"]
)
def test_runs_of_other_worlds_can_be_repeated(world: str, tmp_path: Path) -> None:
    made = written(world)
    path = tmp_path / "from.yaml"
    path.write_text(playbook_text(made), encoding="utf-8")
    book = playbook_at(path)
    assert book == made.playbook
    assert all("no step can say it" not in each for each in made.left_out), made.left_out


def test_a_launch_that_was_interrupted_before_it_was_measured_is_no_step() -> None:
    run, _ = simulated(WORLD)
    briefing, found = recorded(run)
    whole = playbook_of(briefing, found)
    benched = [
        a for a in briefing.ledger.actions.values() if a.started.what == "bench" and not a.started.move["control"]
    ]
    assert benched[-1].ended is not None
    benched[-1].ended = benched[-1].ended.model_copy(update={"outcome": "unknown"})
    made = playbook_of(briefing, found)

    def launches(written: Written) -> list[str]:
        return [s.relaunch for s in written.playbook.steps if isinstance(s, RelaunchStep)]

    assert launches(made) == launches(whole)[:-1]
    assert any(f"{launches(whole)[-1]}: it was not measured (interrupted)" in each for each in made.left_out)
    assert isinstance(made.playbook.steps[-1], RestoreStep), "the other one is put back"
    for action in benched[1:]:
        assert action.ended is not None
        action.ended = action.ended.model_copy(update={"outcome": "unknown"})
    least = playbook_of(briefing, found)
    assert launches(least) == []
    assert not any(isinstance(s, RestoreStep) for s in least.playbook.steps), "nothing is to be put back"
    assert least.playbook.allow == "load"


def test_a_playbook_holds_no_places_and_no_login_of_the_machine_it_was_made_on() -> None:
    argv_places = {"args.model_path": "/models/a", "args.draft": "/models/b:/models/c", "env.LD_LIBRARY_PATH": "/opt/x"}
    login = {
        "env.HOME": "/home/ann",
        "env.PWD": "here",
        "env.USER": "ann",
        "env.SSH_CONNECTION": "1 2",
        "env.LC_ALL": "C",
    }
    kept = {"env.NCCL_DEBUG": "WARN", "args.tp_size": "8", "package.sglang": "0.5.12", "args.algo": "a/b", "env.X": ":"}
    facts = {**argv_places, **login, **kept}
    assert {name for name, value in facts.items() if lasting(name, value)} == kept.keys()


def test_a_title_ends_with_a_sentence_of_the_symptom() -> None:
    long = "EAGLE-3 makes it slower on this machine since the update of last week: 56.8 tok/s with accept length 1.6"
    run, _ = simulated(WORLD, symptom=f"{long}. We asked for more.")
    assert playbook_of(*recorded(run)).playbook.title == f"As in run {run.id}: {long}"


def test_a_run_without_an_end_is_no_playbook() -> None:
    run, _ = simulated(WORLD, allow=Risk.READ)
    briefing, found = recorded(run)
    briefing.ledger.verdict, reached = None, briefing.ledger.verdict
    with pytest.raises(UsageError, match="did not end"):
        playbook_of(briefing, found)
    briefing.ledger.verdict = reached
