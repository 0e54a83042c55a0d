"""The built-in worlds reproduce the figures they were made for, on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from specdoctor.lab.physics import StepTimes
from specdoctor.lab.world import Model, World
from tests.lab.engine_bench import TREE_FLAGS, Run, closed_loop, launched

pytestmark = pytest.mark.slow

KIMI = World.from_yaml("kimi-k2.5-eagle3")
OVERRIDE = World.from_yaml("override-is-the-cause")
STEPS, TOKENS = "--speculative-num-steps", "--speculative-num-draft-tokens"


def chain(steps: int) -> list[str]:
    return [STEPS, str(steps), TOKENS, str(steps + 1)]


def measured(
    world: World,
    *,
    steps: int | None = None,
    base: bool = False,
    models: Mapping[str, Model] | None = None,
    requests: int = 150,
) -> Run:
    without = TREE_FLAGS if base else (STEPS, TOKENS) if steps is not None else ()
    resolved = launched(world, without=without, extra=chain(steps) if steps is not None else (), models=models)
    return closed_loop(resolved, world, requests=requests)


def as_trained() -> Mapping[str, Model]:
    """The drafter, had it been trained on what 0.5.12 captures."""
    target, draft = KIMI.models
    states = draft.training.model_copy(update={"states": ("out(2)", "out(30)", "out(58)")})
    good = draft.model_copy(update={"training": states})
    return {KIMI.expand(model.path): model for model in (target, good)}


@pytest.mark.parametrize(("steps", "tok_s", "accept_length"), [(None, 56.8, 1.60), (1, 56.8, 1.60), (15, 46.7, 1.90)])
def test_kimi_as_served(steps: int | None, tok_s: float, accept_length: float) -> None:
    run = measured(KIMI, steps=steps)
    assert run.decode_tok_s == pytest.approx(tok_s, rel=0.02)
    assert run.accept_length == pytest.approx(accept_length, rel=0.02)


def test_kimi_without_speculation() -> None:
    assert measured(KIMI, base=True, requests=40).decode_tok_s == pytest.approx(90.0, rel=0.02)


@pytest.mark.parametrize(("steps", "tok_s", "accept_length"), [(1, 62.0, 1.747), (6, 93.5, 3.06), (15, 80.0, 3.26)])
def test_kimi_had_it_been_fed_what_it_was_trained_on(steps: int, tok_s: float, accept_length: float) -> None:
    run = measured(KIMI, steps=steps, models=as_trained())
    assert run.decode_tok_s == pytest.approx(tok_s, rel=0.02)
    assert run.accept_length == pytest.approx(accept_length, rel=0.02)


def test_kimis_cycle_is_nearly_linear_in_the_steps() -> None:
    def cycle(steps: int) -> float:
        return StepTimes(launched(KIMI, without=(STEPS, TOKENS), extra=chain(steps)), KIMI).decode_ms(1, 300.0)

    assert cycle(1) == pytest.approx(28.17, rel=0.005)
    assert cycle(15) == pytest.approx(40.68, rel=0.005)
    for steps in range(2, 15):
        line = cycle(1) + (cycle(15) - cycle(1)) * (steps - 1) / 14
        assert cycle(steps) == pytest.approx(line, rel=0.01)


def test_kimis_draft_tokens_were_cut_and_the_states_are_not_those_of_the_training() -> None:
    resolved = launched(KIMI)
    assert resolved.num_draft_tokens == 2
    assert resolved.captured_states == ("out(2)", "out(30)", "out(58)")
    assert not resolved.wired_as_trained
    assert resolved.api_key


def test_one_step_cannot_pay_and_the_chain_that_was_asked_for_does() -> None:
    base = measured(OVERRIDE, base=True, requests=60)
    asked = measured(OVERRIDE)
    assert asked.decode_tok_s == pytest.approx(OVERRIDE.truth.figures["launched_tok_s"], rel=0.02)
    assert asked.accept_length == pytest.approx(OVERRIDE.truth.figures["launched_accept_length"], rel=0.02)
    assert asked.decode_tok_s < base.decode_tok_s
    freed = measured(OVERRIDE, steps=5)
    assert freed.decode_tok_s == pytest.approx(OVERRIDE.truth.figures["steps5_tok_s"], rel=0.02)
    assert freed.decode_tok_s > 1.4 * base.decode_tok_s
    assert measured(OVERRIDE, steps=15, requests=60).decode_tok_s > 1.2 * base.decode_tok_s


def test_the_healthy_world_gains() -> None:
    world = World.from_yaml("healthy")
    resolved = launched(world)
    assert "DeepSeek MTP does not require setting speculative_draft_model_path." in resolved.notices
    assert resolved.wired_as_trained
    assert set(resolved.graphs.phases) == {"target_verify", "draft_decode", "draft_extend"}
    run, figures = measured(world), world.truth.figures
    assert run.decode_tok_s == pytest.approx(figures["launched_tok_s"], rel=0.02)
    assert run.accept_length == pytest.approx(figures["launched_accept_length"], rel=0.02)
    assert measured(world, base=True, requests=40).decode_tok_s == pytest.approx(figures["baseline_tok_s"], rel=0.02)


def test_lost_graphs_halve_the_speed() -> None:
    world = World.from_yaml("graphs-off-by-flag")
    figures = world.truth.figures
    assert measured(world).decode_tok_s == pytest.approx(figures["launched_tok_s"], rel=0.02)
    graphs = closed_loop(launched(world, without=("--disable-cuda-graph",)), world, requests=150)
    assert graphs.decode_tok_s == pytest.approx(figures["graphs_on_tok_s"], rel=0.02)
    base = launched(world, without=("--disable-cuda-graph", *TREE_FLAGS))
    assert closed_loop(base, world, requests=30).decode_tok_s == pytest.approx(figures["baseline_tok_s"], rel=0.02)


def test_the_down_world_dies_at_capture_and_would_live_with_a_smaller_fraction() -> None:
    world = World.from_yaml("server-down")
    failure = launched(world).late_failure
    assert failure is not None
    assert failure.after == "graphs"
    smaller = launched(world, without=("--mem-fraction-static",), extra=("--mem-fraction-static", "0.85"))
    assert smaller.late_failure is None


def test_a_lifted_cap_lifts_the_throughput() -> None:
    world = World.from_yaml("request-cap-48")
    capped = closed_loop(launched(world), world, clients=64, requests=256)
    lifted = launched(world, extra=("--max-running-requests", "64"))
    free = closed_loop(lifted, world, clients=64, requests=256)
    pinned = [line for line in capped.lines if "Decode" in line and "#running-req: 48," in line]
    assert len(pinned) > 5
    assert any("#queue-req: 16" in line for line in pinned)
    assert free.total_tok_s > 1.15 * capped.total_tok_s
