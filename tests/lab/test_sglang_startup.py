"""The log of a start, held against a real one."""

from __future__ import annotations

import ast
import json
import random
import re

import pytest

from specdoctor.lab.engine_core import Resolved, StartupStep, startup_script
from specdoctor.lab.sglang_startup import StartupLog
from specdoctor.lab.world import World
from tests.lab.engine_bench import COMMAND, DATA, NOW_S, PLAIN, SPECULATION, bench_world, excerpt, shape, started

# Lines of the real log that say nothing about the start of a text server.
ASIDE = ("Multimodal", "CUDA IPC", "SPECULATIVE_MOE", "Ignore import error", "Disable prefill", "Using fallback")


def steps_of(resolved: Resolved, world: World) -> list[StartupStep]:
    script = startup_script(resolved, world, random.Random(1), now_s=NOW_S)
    return [step for step in script if isinstance(step, StartupStep)]


def lines_of(resolved: Resolved, world: World) -> list[str]:
    return [line for step in steps_of(resolved, world) for line in step.lines]


def shapes(lines: list[str]) -> list[str]:
    kept = [line for line in lines if not any(word in line for word in ASIDE) and "server_args=" not in line]
    kept = [re.sub(r"\[[\d, ]+\]", "[N]", line) for line in kept if "site-packages" not in line]
    return [shape(line.split("\r")[-1] if "\r" in line else line) for line in kept]


def bar(text: str) -> str:
    """A progress bar without its drawing."""
    return re.sub(r"[█▏▎▍▌▋▊▉ ]+\|", "|", re.sub(r"N(it/s|s/it)", "RATE", text)).replace(" ", "")


def test_the_lines_of_a_start_are_those_of_a_real_one_in_order() -> None:
    world = bench_world()
    ours = [bar(text) for text in shapes(lines_of(started(world, [*COMMAND, *SPECULATION]), world))]
    real = [bar(text) for text in shapes(excerpt("startup.log"))]
    assert ours == real


def test_the_arguments_are_printed_as_the_version_prints_them() -> None:
    names = json.loads((DATA / "server_info_keys.json").read_text(encoding="utf-8"))["server_args"]
    world = bench_world()
    line = next(line for line in lines_of(started(world, [*COMMAND, *SPECULATION]), world) if "server_args=" in line)
    call = ast.parse(line.split("server_args=", 1)[1], mode="eval").body
    assert isinstance(call, ast.Call)
    assert [keyword.arg for keyword in call.keywords] == names
    values = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    assert values["speculative_num_draft_tokens"] == "4"
    assert values["cuda_graph_config"].startswith("CudaGraphConfig(decode=PhaseConfig(backend='full', max_bs=32,")


def test_late_versions_print_a_dict() -> None:
    world = bench_world("0.5.23")
    line = next(line for line in lines_of(started(world, [*PLAIN, *SPECULATION]), world) if "server_args=" in line)
    values = ast.literal_eval(line.split("server_args=", 1)[1])
    assert values["speculative_num_steps"] == 3


@pytest.mark.parametrize(
    ("version", "begin", "end"),
    [
        (
            "0.5.12",
            "Capture cuda graph begin. This can take up to several minutes. avail mem=",
            "Capture cuda graph end. Time elapsed: ",
        ),
        (
            "0.5.15",
            "Capture target verify CUDA graph begin. backend=full, num_tokens_per_bs=4, bs=[1, 2,",
            "Capture target verify CUDA graph end. elapsed=",
        ),
        (
            "0.5.17",
            "Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=4, bs=[1, 2,",
            "Capture target verify CUDA graph end. elapsed=",
        ),
        (
            "0.5.23",
            "Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=4, avail mem=",
            "Capture target verify CUDA graph end. bs=[1, 2,",
        ),
    ],
)
def test_capture_lines_by_version(version: str, begin: str, end: str) -> None:
    world = bench_world(version)
    lines = lines_of(started(world, [*PLAIN, *SPECULATION]), world)
    assert any(begin in line for line in lines)
    assert any(end in line for line in lines)


def test_old_versions_load_the_draft_after_the_targets_graphs() -> None:
    world = bench_world("0.5.12")
    lines = lines_of(started(world, [*PLAIN, *SPECULATION]), world)

    def places(text: str) -> list[int]:
        return [index for index, line in enumerate(lines) if text in line]

    target, draft = places("Load weight end.")
    assert target < places("Capture cuda graph end.")[0] < draft < places("Capture draft cuda graph begin.")[0]
    assert "type=LlamaForCausalLMEagle3" in lines[draft]


def test_ranks_sign_their_lines() -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    lines = lines_of(started(world, [world.expand(word) for word in world.launch.argv]), world)
    loaded = [line for line in lines if "Load weight end." in line]
    assert len(loaded) == 16
    assert {line.split("] ")[0].split()[-1] for line in loaded} == {f"TP{rank}" for rank in range(8)}
    assert sum("max_total_num_tokens=" in line and "context_len" in line for line in lines) == 1


def test_a_quiet_log_level_hides_the_info_lines() -> None:
    world = bench_world()
    lines = lines_of(started(world, [*COMMAND, *SPECULATION, "--log-level", "warning"]), world)
    assert not any("server_args=" in line or "fired up" in line for line in lines)


def test_memory_grows_and_phases_follow() -> None:
    world = bench_world()
    steps = steps_of(started(world, [*COMMAND, *SPECULATION]), world)
    held = [step.gpu_memory_gb[0] for step in steps if step.gpu_memory_gb is not None]
    assert held == sorted(held)
    assert held[-1] > 2.0
    assert steps[-1].phase == "ready"
    assert all(step.delay_s >= 0 for step in steps)


@pytest.mark.parametrize(
    "name", ["kimi-k2.5-eagle3", "override-is-the-cause", "healthy", "graphs-off-by-flag", "request-cap-48"]
)
def test_a_start_takes_a_few_seconds(name: str) -> None:
    world = World.from_yaml(name)
    steps = steps_of(started(world, [world.expand(word) for word in world.launch.argv]), world)
    assert 4.5 <= sum(step.delay_s for step in steps) <= 9.0


def test_the_same_seed_gives_the_same_log() -> None:
    world = bench_world()
    resolved = started(world, [*COMMAND, *SPECULATION])
    assert lines_of(resolved, world) == lines_of(resolved, world)


def test_timings_name_the_phases() -> None:
    world = bench_world()
    log = StartupLog(started(world, [*COMMAND, *SPECULATION]), world, random.Random(1), NOW_S, 4121)
    for _ in log.steps():
        pass
    timings = log.timings()
    assert timings["target_verify"] > 0
    assert timings["decode"] == 0.0
