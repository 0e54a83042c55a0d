"""Drafters of the practice host that can be calculated: their files say what the world says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.app.drafter_eval import Asked, eval_drafter
from specdoctor.lab.drafting import feedings
from specdoctor.lab.tensors import write_model
from specdoctor.lab.world import World
from tests.drafter.judging import files


@pytest.mark.parametrize("name", ["kimi-k2.5-eagle3", "off-by-one"])
@pytest.mark.slow
def test_fed_as_trained_and_as_served_it_accepts_what_the_world_says(name: str, tmp_path: Path) -> None:
    world = World.from_yaml(name)
    model = world.model("kimi-k2.5-eagle3")
    assert model.stored_states is not None
    write_model(world, model, tmp_path / "head")
    fed = feedings(world, model)
    assert fed[0][0] == model.training.states
    found = eval_drafter(
        Asked(
            draft=files(tmp_path / "head"),
            states=tmp_path / "head" / model.stored_states,
            feed=tuple(states for states, _ in fed),
            training=("record.yaml", f"trained_on: [{', '.join(model.training.states)}]"),
            trained_accuracy=0.747,
        ),
        progress=lambda done, total: None,
    )
    assert found.as_trained is not None
    rows = {row.states: row for row in found.fed}
    for states, rates in fed:
        for step, rate in zip(rows[states].steps, [*rates, rates[-1]], strict=False):
            assert step.own is not None
            assert step.own.low - 0.02 < rate < step.own.high + 0.02
    assert "trained on" in found.as_trained.restored
    assert len(found.as_trained.short) == len(fed) - 1


@pytest.mark.slow
def test_any_other_order_says_nothing(tmp_path: Path) -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    model = world.model("kimi-k2.5-eagle3")
    write_model(world, model, tmp_path / "head")
    asked = Asked(
        draft=files(tmp_path / "head"),
        states=tmp_path / "head" / "train/states-sample.safetensors",
        feed=(("out(2)", "embed", "out(30)"),),
        training=None,
    )
    turned = next(
        row for row in eval_drafter(asked, progress=lambda done, total: None).fed if row.states[0] == "out(2)"
    )
    assert turned.accept_length is not None
    assert turned.accept_length.value < 1.1
