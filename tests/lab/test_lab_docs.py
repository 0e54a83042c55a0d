"""docs/lab.md describes the world format as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from specdoctor.lab import world as world_module
from specdoctor.lab.world import World
from tests.lab.engine_bench import closed_loop, launched

PAGE = Path(__file__).parents[2] / "docs" / "lab.md"
TEXT = PAGE.read_text(encoding="utf-8")
PARTS = sorted(
    name
    for name, value in vars(world_module).items()
    if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__.startswith(world_module.__name__)
)


@pytest.mark.parametrize("part", PARTS)
def test_every_key_is_described(part: str) -> None:
    told = set(re.findall(r"`(\w+)`", TEXT))
    assert set(getattr(world_module, part).model_fields) <= told


def test_the_example_is_a_world_and_its_head_is_useless(tmp_path: Path) -> None:
    block = re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    path = tmp_path / "example.yaml"
    path.write_text(block.group(1), encoding="utf-8")
    world = World.from_yaml(path)
    run = closed_loop(launched(world), world, requests=10)
    assert run.accept_length < 1.05
