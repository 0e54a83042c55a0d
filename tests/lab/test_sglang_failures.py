"""Starts that fail, held against a real server's words where there are some."""

from __future__ import annotations

import random

import pytest

from specdoctor.lab.engine_core import Exit, Occupancy, Resolved, StartupStep, startup_script
from specdoctor.lab.world import World
from tests.lab.engine_bench import (
    COMMAND,
    NOW_S,
    PLAIN,
    SPECULATION,
    bench_world,
    excerpt,
    refused,
    shape,
    started,
)

DEAD = "Received sigquit from a child process. It usually means the child failed."


def play(resolved: Resolved, world: World) -> tuple[list[str], int | None]:
    """All lines of a start, and the exit code when it dies."""
    lines: list[str] = []
    for step in startup_script(resolved, world, random.Random(1), now_s=NOW_S, pid=5686):
        if isinstance(step, Exit):
            return lines, step.exit_code
        assert isinstance(step, StartupStep)
        lines += step.lines
    return lines, None


def without(words: list[str], *flags: str) -> list[str]:
    kept = list(words)
    for flag in flags:
        at = kept.index(flag)
        del kept[at : at + 2]
    return kept


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x_draft_missing.log", [*SPECULATION[:3], "/models/no_such_dir", *SPECULATION[4:]]),
        ("x_steps_only.log", SPECULATION[:6]),
    ],
)
def test_parse_time_errors_match_the_real_ones(name: str, words: list[str]) -> None:
    failed = refused(bench_world(), [*COMMAND, *words])
    real = excerpt(name)
    assert failed.exit_code == 1
    assert failed.lines[-1] == real[-1]
    assert "Traceback (most recent call last):" in failed.lines
    assert not any(line.startswith("[") for line in failed.lines)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x_no_draft.log", without(SPECULATION, "--speculative-draft-model-path")),
        (
            "x_standalone_vocab.log",
            [
                "--speculative-algorithm",
                "STANDALONE",
                SPECULATION[2],
                "/models/standalone_othervocab",
                *SPECULATION[4:],
            ],
        ),
    ],
)
def test_late_errors_match_the_real_ones(name: str, words: list[str]) -> None:
    world = bench_world()
    lines, code = play(started(world, [*COMMAND, *words]), world)
    real = excerpt(name)
    error = next(line for line in real if "Error: " in line)
    assert code == -9
    assert error in lines
    assert [shape(line) for line in lines[-2:]] == [shape(line) for line in real[-2:]]
    assert sum("Load weight end." in line for line in lines) == 2
    assert not any("fired up" in line for line in lines)


def test_a_missing_draft_folder_is_found_late_in_old_versions() -> None:
    world = bench_world("0.5.9")
    words = [*PLAIN, *SPECULATION[:3], "/models/no_such_dir", *SPECULATION[4:]]
    lines, code = play(started(world, words), world)
    assert code == -9
    assert any("Repo id must be in the form" in line for line in lines)
    assert any("server_args=" in line for line in lines)


def test_another_vocabulary_goes_unnoticed_in_old_versions() -> None:
    world = bench_world("0.5.12")
    words = [*PLAIN, "--speculative-algorithm", "STANDALONE", SPECULATION[2], "/models/standalone_othervocab"]
    resolved = started(world, words)
    assert play(resolved, world)[1] is None
    assert not resolved.wired_as_trained


def test_a_missing_target_is_an_os_error() -> None:
    failed = refused(bench_world(), [*PLAIN[:-1], "/models/none"])
    assert failed.exit_code == 1
    assert failed.lines[-1].startswith("OSError: Repo id must be in the form")


def test_the_http_port_is_found_taken_only_after_the_load() -> None:
    world = bench_world()
    resolved = started(world, PLAIN, occupied=Occupancy(ports=frozenset({30000})))
    lines, code = play(resolved, world)
    assert code == 1
    assert any("address already in use" in line and line.startswith("[") for line in lines)
    assert any("Load weight end." in line for line in lines)


def test_weights_that_do_not_fit_are_out_of_memory() -> None:
    world = bench_world()
    resolved = started(world, PLAIN, occupied=Occupancy(gpu_memory_gb={0: 139.0}))
    lines, code = play(resolved, world)
    assert code == -9
    assert any(line.startswith("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate") for line in lines)
    assert not any("Load weight end." in line for line in lines)


@pytest.mark.parametrize(
    ("version", "error"),
    [
        ("0.5.12", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."),
        ("0.5.17", "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static="),
    ],
)
def test_no_room_for_the_cache(version: str, error: str) -> None:
    world = bench_world(version)
    lines, code = play(started(world, [*PLAIN, "--mem-fraction-static", "0.003"]), world)
    assert code == -9
    assert any(line.startswith(error) for line in lines)


def test_graphs_that_do_not_fit_fail_at_capture() -> None:
    world = World.from_yaml("server-down")
    lines, code = play(started(world, [world.expand(word) for word in world.launch.argv]), world)
    assert code == -9
    assert any(line.startswith("Exception: Capture cuda graph failed: CUDA out of memory.") for line in lines)
    assert "Possible solutions:" in lines
    assert lines[-1].endswith(DEAD)


def test_memory_held_on_one_gpu_of_a_group_is_unbalanced() -> None:
    world = bench_world(gpus={"count": 2, "tenants": [{"gpu": 1, "memory_gb": 60.0}]})
    lines, code = play(started(world, [*PLAIN, "--tp", "2"]), world)
    assert code == -9
    assert any("The memory capacity is unbalanced." in line for line in lines)


def test_more_ranks_than_gpus() -> None:
    world = bench_world()
    lines, code = play(started(world, [*PLAIN, "--tp", "4"]), world)
    assert code == -9
    assert any("invalid device ordinal" in line for line in lines)


def test_states_that_cannot_be_captured_fail_at_the_first_draft_forward() -> None:
    world = bench_world("0.5.12")
    head = world.model("eagle3")
    config = {**head.config, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [-1, 11, 20]}}
    edited = world.model_copy(update={"models": (world.models[0], head.model_copy(update={"config": config}))})
    lines, code = play(started(edited, [*PLAIN, *SPECULATION]), edited)
    assert code == -9
    assert any("unsupported operand type(s) for +: 'Tensor' and 'NoneType'" in line for line in lines)
    assert sum("Load weight end." in line for line in lines) == 2


def test_a_draft_of_short_context_is_refused() -> None:
    world = bench_world()
    head = world.model("eagle3")
    config = {**head.config, "max_position_embeddings": 2048}
    edited = world.model_copy(update={"models": (world.models[0], head.model_copy(update={"config": config}))})
    lines, code = play(started(edited, [*PLAIN, *SPECULATION]), edited)
    assert code == -9
    assert any("Target model's context_length (3072)" in line for line in lines)
    allowed = started(edited, [*PLAIN, *SPECULATION], {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"})
    assert play(allowed, edited)[1] is None
