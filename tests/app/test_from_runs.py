"""Playbooks made from runs: they are read back as they were written, and a replay elsewhere names what differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specdoctor.analysis.divergence import Divergence, diverged
from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.assembly.judging import recorded_run
from specdoctor.assembly.planning import playbook_at
from specdoctor.core.errors import UsageError
from specdoctor.core.events import RunSettings
from specdoctor.core.model import Risk
from specdoctor.core.ports import Briefing
from specdoctor.core.recorded import Recorded
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.expectations import exit_code, outcomes
from specdoctor.planners.playbook import PlaybookPlanner
from specdoctor.planners.playbook_schema import Playbook
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


def test_a_run_without_an_end_is_no_playbook() -> None:
    run, _ = simulated(WORLD, allow=Risk.READ)
    briefing, found = recorded(run)
    briefing.ledger.verdict, reached = None, briefing.ledger.verdict
    with pytest.raises(UsageError, match="did not end"):
        playbook_of(briefing, found)
    briefing.ledger.verdict = reached
