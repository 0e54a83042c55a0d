"""Worlds drawn at random: whole, repeatable, and of many kinds."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from specdoctor.cli.main import app
from specdoctor.core.launch import LaunchChange, apply_change
from specdoctor.lab.acceptance import Drafter, Luck
from specdoctor.lab.engine_core import Resolved, resolve
from specdoctor.lab.physics import StepTimes
from specdoctor.lab.random_world import random_world
from specdoctor.lab.world import World

SPECULATION = ("--speculative-num-steps", "--speculative-eagle-topk", "--speculative-num-draft-tokens")


def started(world: World, setting: tuple[int, int, int] | None) -> Resolved:
    argv = tuple(world.expand(word) for word in world.launch.argv)
    change = LaunchChange(label="off", remove_flags=tuple(w for w in argv if w.startswith("--speculative")))
    if setting is not None:
        flags = {name: (str(value),) for name, value in zip(SPECULATION, setting, strict=True)}
        change = LaunchChange(label="on", set_flags=flags)
    resolved = resolve(list(apply_change(argv, change)), {}, world)
    assert isinstance(resolved, Resolved)
    return resolved


def accept_length(world: World, steps: int, *, counted: int | None = None) -> float:
    """Accept length of a chain, or of its first `counted` positions."""
    drafter = Drafter(started(world, (steps, 1, steps + 1)), world)
    taken: list[int] = []
    for number in range(40):
        luck, position = Luck(f"text {number}", drafter.stretch_tokens), 1
        while position < 160:
            taken.append(drafter.accepted(luck, position, easiness=0.0, temperature=0.0))
            position += taken[-1] + 1
    most = steps if counted is None else counted
    return 1.0 + sum(min(one, most) for one in taken) / len(taken)


def speed_up(world: World, setting: tuple[int, int, int]) -> float:
    cycle = StepTimes(started(world, setting), world).decode_ms(1, 200.0)
    step = StepTimes(started(world, None), world).decode_ms(1, 200.0)
    return accept_length(world, setting[0]) * step / cycle


def test_the_printed_file_is_the_world_and_the_same_each_time(tmp_path: Path) -> None:
    path = tmp_path / "seven.yaml"
    assert CliRunner().invoke(app, ["lab", "random", "--seed", "7", "--out", str(path)]).exit_code == 0
    assert World.from_yaml(path) == random_world(7)
    assert CliRunner().invoke(app, ["lab", "random", "--seed", "7"]).stdout == path.read_text()


def test_each_seed_gives_a_world_whose_server_starts_with_chains_and_trees() -> None:
    for seed in range(12):
        world = random_world(seed)
        for setting in ((1, 1, 2), (15, 1, 16), (4, 2, 15), (8, 8, 32)):
            resolved = started(world, setting)
            assert (resolved.num_steps, resolved.topk, resolved.num_draft_tokens) == setting
            assert resolved.wired_as_trained


def test_speculation_pays_on_some_and_never_on_others() -> None:
    gains = [max(speed_up(random_world(seed), (k, 1, k + 1)) for k in (1, 3, 6)) for seed in (1, 4, 24, 26)]
    assert gains[0] > 1.5
    assert gains[1] < 1.0
    assert gains[2] > 1.5
    assert gains[3] < 1.0


@pytest.mark.parametrize("seed", [1, 24])
def test_a_long_chain_understates_a_short_one(seed: int) -> None:
    world = random_world(seed)
    short, read_out_of_long = accept_length(world, 3), accept_length(world, 15, counted=3)
    assert 0.90 < read_out_of_long / short < 0.99
