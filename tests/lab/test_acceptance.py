"""Accepted drafts."""

from __future__ import annotations

import pytest

from specdoctor.lab.acceptance import Drafter, Luck, conditionals_of, mean_preserving_logits
from specdoctor.lab.engine_core import Resolved
from specdoctor.lab.world import World
from tests.lab.engine_bench import COMMAND, SPECULATION, bench_world, started

WORLD = bench_world()


def with_flags(*extra: str, env: dict[str, str] | None = None) -> Resolved:
    return started(WORLD, [*COMMAND, *SPECULATION, *extra], env)


def accept_length(resolved: Resolved, world: World = WORLD, *, temperature: float = 0.0, prompts: int = 150) -> float:
    drafter = Drafter(resolved, world)
    accepted = cycles = 0
    for number in range(prompts):
        luck, easiness, position = Luck(f"p{number}", 12.0), drafter.easiness(f"p{number}", None), 1
        while position < 200:
            taken = drafter.accepted(luck, position, easiness=easiness, temperature=temperature)
            accepted, cycles, position = accepted + taken, cycles + 1, position + taken + 1
    return 1 + accepted / cycles


def test_a_chain_follows_its_conditionals() -> None:
    expected = 1 + 0.84 + 0.84 * 0.80 + 0.84 * 0.80 * 0.78
    assert accept_length(with_flags()) == pytest.approx(expected, rel=0.015)


def test_the_last_conditional_holds_for_later_positions() -> None:
    marginal, total = 0.84, 1.0
    for index in range(7):
        total += marginal
        marginal *= (0.80, 0.78)[min(index, 1)]
    long = with_flags("--speculative-num-steps", "7")
    assert accept_length(long) == pytest.approx(total, rel=0.02)


def test_temperature_lowers_acceptance() -> None:
    assert accept_length(with_flags(), temperature=0.8) < 0.8 * accept_length(with_flags())


def test_a_tree_raises_the_first_position() -> None:
    chain, tree = with_flags(), with_flags("--speculative-eagle-topk", "4", "--speculative-num-draft-tokens", "8")
    assert accept_length(chain) < accept_length(tree) < accept_length(chain) + 0.6


def test_an_eagle3_head_under_eagle_accepts_almost_nothing() -> None:
    wrong = with_flags("--speculative-algorithm", "EAGLE")
    assert 1.0 <= accept_length(wrong) < 1.06


def test_dummy_weights_accept_nothing() -> None:
    assert accept_length(with_flags("--speculative-draft-load-format", "dummy")) < 1.02


def test_other_states_than_trained_use_the_other_conditionals() -> None:
    model = WORLD.model("eagle3")
    config = {**model.config, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 12, 21]}}
    moved = model.model_copy(update={"config": config})
    world = WORLD.model_copy(update={"models": (WORLD.models[0], moved)})
    resolved = started(world, [*COMMAND, *SPECULATION])
    assert not resolved.wired_as_trained
    assert conditionals_of(resolved, world) == (0.4, 0.3)


def test_a_simulated_accept_length_overrides_everything() -> None:
    faked = with_flags(env={"SGLANG_SIMULATE_ACC_LEN": "2.5"})
    assert accept_length(faked) == pytest.approx(2.5, rel=0.02)


def test_the_luck_of_a_text_does_not_depend_on_the_chain() -> None:
    short, long = with_flags("--speculative-num-steps", "1"), with_flags("--speculative-num-steps", "3")
    for number in range(50):
        luck = Luck(f"p{number}", 12.0)
        one = Drafter(short, WORLD).accepted(luck, 1, easiness=0.0, temperature=0.0)
        three = Drafter(long, WORLD).accepted(luck, 1, easiness=0.0, temperature=0.0)
        assert one == min(three, 1)


def test_prompt_effects_keep_the_pooled_mean() -> None:
    wide = mean_preserving_logits((0.6, 0.33), 0.6, 3)
    narrow = mean_preserving_logits((0.6, 0.33), 0.0, 3)
    assert narrow[0] == pytest.approx(0.405, abs=0.01)
    assert wide[1] < narrow[1]
