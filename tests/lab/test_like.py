"""Worlds that are like another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.lab.world import World, WorldError, json_schema


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_given_replaces_and_the_rest_is_the_others(tmp_path: Path) -> None:
    path = written(tmp_path, "mine", "like: graphs-off-by-flag\nname: mine\nhost: {name: other}\nhistory: []\n")
    mine, base = World.from_yaml(path), World.from_yaml("graphs-off-by-flag")
    assert (mine.name, mine.host.name, mine.history) == ("mine", "other", ())
    assert mine.host.cpus == base.host.cpus
    assert mine.models == base.models


def test_a_file_beside_this_one_may_be_named(tmp_path: Path) -> None:
    written(tmp_path, "base", "like: healthy\nname: base\nseed: 5\n")
    assert World.from_yaml(written(tmp_path, "mine", "like: base.yaml\nname: mine\n")).seed == 5


def test_a_circle_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "one", "like: two.yaml\nname: one\n")
    with pytest.raises(WorldError, match="like each other"):
        World.from_yaml(written(tmp_path, "two", "like: one.yaml\nname: two\n"))


def test_the_schema_knows_both_kinds() -> None:
    form = json_schema()
    assert "like" in form["properties"]
    assert {"required": ["like"]} in form["anyOf"]
