"""Step times."""

from __future__ import annotations

import random
import statistics

import pytest

from specdoctor.lab.physics import Jitter, StepTimes, distinct_experts, drag_of, forward_ms
from specdoctor.lab.world import EnvironmentEffect, ForwardCost, Noise
from tests.lab.engine_bench import COMMAND, SPECULATION, bench_world, started

MOE = ForwardCost(weights_ms=4.0, fixed_ms=6.0, experts_ms=0.5, experts=384, active_experts=8)


@pytest.mark.parametrize(("tokens", "experts"), [(1, 8.0), (2, 15.8), (3, 23.5), (4, 31.0), (16, 109.8)])
def test_distinct_experts(tokens: int, experts: float) -> None:
    assert distinct_experts(MOE, tokens) == pytest.approx(experts, rel=0.005)


def test_tokens_that_choose_alike_hit_fewer_experts() -> None:
    alike = MOE.model_copy(update={"expert_overlap": 0.5})
    assert distinct_experts(alike, 16) < distinct_experts(MOE, 16)
    assert distinct_experts(alike, 1) == pytest.approx(8.0)


def test_a_dense_forward_is_flat_until_it_is_compute_bound() -> None:
    dense = ForwardCost(weights_ms=5.0, compute_ms_per_token=0.03)

    def at(tokens: int) -> float:
        return forward_ms(dense, tokens=tokens, padded_tokens=tokens, context_tokens=0)

    assert at(1) == pytest.approx(at(16), rel=0.001)
    assert at(1000) == pytest.approx(30.0, rel=0.001)


def test_context_costs_time() -> None:
    cost = ForwardCost(weights_ms=5.0, attention_ms_per_ktoken=0.1)
    near = forward_ms(cost, tokens=1, padded_tokens=1, context_tokens=0)
    far = forward_ms(cost, tokens=1, padded_tokens=1, context_tokens=32_000)
    assert far - near == pytest.approx(3.2)


def test_a_batch_between_two_captured_sizes_pays_for_the_larger() -> None:
    world = bench_world()
    times = StepTimes(started(world, COMMAND), world)
    assert times.decode_ms(17, 0.0) == pytest.approx(times.decode_ms(24, 0.0))
    assert times.decode_ms(16, 0.0) < times.decode_ms(17, 0.0)


def test_without_graphs_the_host_sets_the_pace() -> None:
    world = bench_world()
    graphs = StepTimes(started(world, COMMAND + SPECULATION), world)
    eager = StepTimes(started(world, [*COMMAND, *SPECULATION, "--cuda-graph-backend-decode", "disabled"]), world)
    assert graphs.uses_graph(1)
    assert not eager.uses_graph(1)
    assert eager.decode_ms(1, 200.0) > 8 * graphs.decode_ms(1, 200.0)


def test_a_batch_above_the_largest_captured_size_runs_eagerly() -> None:
    world = bench_world()
    times = StepTimes(started(world, COMMAND), world)
    assert not times.uses_graph(33)
    assert times.decode_ms(33, 0.0) > 10 * times.decode_ms(32, 0.0)


def test_each_draft_step_adds_the_same() -> None:
    world = bench_world()

    def cycle(steps: int) -> float:
        flags = [*COMMAND, *SPECULATION, "--speculative-num-steps", str(steps)]
        return StepTimes(started(world, flags), world).decode_ms(1, 200.0)

    assert cycle(3) - cycle(2) == pytest.approx(cycle(7) - cycle(6), rel=0.02)
    assert cycle(1) > StepTimes(started(world, COMMAND), world).decode_ms(1, 200.0)


def test_environment_effects_multiply() -> None:
    effect = EnvironmentEffect(variable="CUDA_LAUNCH_BLOCKING", value="1", host_factor=3.0, extra_ms=2.0)
    world = bench_world(physics={"environment": [effect.model_dump()], "gpu_factor": 1.5})
    assert drag_of(world, {}).host == 1.0
    assert drag_of(world, {"CUDA_LAUNCH_BLOCKING": "1"}) == drag_of(world, {"CUDA_LAUNCH_BLOCKING": "1", "X": "2"})
    drag = drag_of(world, {"CUDA_LAUNCH_BLOCKING": "1"})
    assert (drag.host, drag.gpu, drag.extra_ms) == (3.0, 1.5, 2.0)


def test_jitter_keeps_the_mean_and_the_seed_fixes_it() -> None:
    noise = Noise(cv=0.02, drift_cv=0.01, hiccups_per_kstep=2.0, hiccup_ms=5.0)

    def draw(seed: int) -> list[float]:
        jitter = Jitter(noise, random.Random(seed))
        return [jitter.actual_s(10.0, step * 0.01) for step in range(30_000)]

    first = draw(1)
    assert statistics.mean(first) == pytest.approx(0.010, rel=0.005)
    assert statistics.stdev(first) > 0.0001
    assert first == draw(1)
    assert first != draw(2)
