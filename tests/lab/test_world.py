"""The world format."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from specdoctor.lab import world as world_module
from specdoctor.lab.engine_core import Resolved, resolve
from specdoctor.lab.world import Acceptance, Engine, World, WorldError, builtin_worlds, json_schema

FIRST_WORLDS = {
    "graphs-off-by-flag",
    "healthy",
    "kimi-k2.5-eagle3",
    "override-is-the-cause",
    "request-cap-48",
    "server-down",
}


def test_the_first_worlds_come_with_the_package() -> None:
    assert set(builtin_worlds()) >= FIRST_WORLDS


@pytest.mark.parametrize("name", builtin_worlds())
def test_a_builtin_world_names_itself_and_resolves_its_own_launch(name: str) -> None:
    world = World.from_yaml(name)
    outcome = resolve([world.expand(word) for word in world.launch.argv], world.launch.env, world)
    assert world.name == name
    assert isinstance(outcome, Resolved)
    assert (outcome.late_failure is None) is (world.server.state == "running" or world.server.crash is not None)


def test_every_fault_of_a_file_is_listed_with_its_key(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("name: bad\nengine: {version: 0.5.12}\nhost: {name: h, cpuz: 4}\nmodels: []\n", encoding="utf-8")
    with pytest.raises(WorldError) as caught:
        World.from_yaml(path)
    said = str(caught.value)
    assert "4 faults" in said
    assert "host.cpuz" in said
    assert "launch" in said
    assert "ask" in said


def test_two_models_may_not_share_a_path(tmp_path: Path) -> None:
    text = (Path(world_module.__file__).parent / "worlds" / "server-down.yaml").read_text(encoding="utf-8")
    path = tmp_path / "twice.yaml"
    path.write_text(text.replace("{models}/Qwen3-32B-eagle3", "{models}/Qwen3-32B"), encoding="utf-8")
    with pytest.raises(WorldError, match="share the same path"):
        World.from_yaml(path)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(WorldError, match="no-such-world"):
        World.from_yaml("no-such-world")


@pytest.mark.parametrize("values", [(), (1.0,), (-0.1,)])
def test_acceptance_must_be_probabilities_below_one(values: tuple[float, ...]) -> None:
    with pytest.raises(ValidationError):
        Acceptance(as_trained=values)


def test_the_schema_describes_every_top_level_key() -> None:
    assert set(json_schema()["properties"]) == {"like", *World.model_fields}


@pytest.mark.parametrize("version", ["0.5.12", "0.5.12.post1", "0.5.12rc1", "0.5.12.post1.dev3+gabc"])
def test_versions_of_every_kind_have_a_release(version: str) -> None:
    assert Engine(version=version).release == (0, 5, 12)


def test_a_version_must_look_like_one() -> None:
    with pytest.raises(ValidationError, match="no version like"):
        Engine(version="newest")


def test_placeholders_expand() -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    assert world.expand("{models}/x", models="/m") == "/m/x"
    assert world.expand("{log}") == "/home/ml/logs/kimi-server.log"
