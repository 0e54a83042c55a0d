"""The command that makes a corrected copy, pasted into a shell, and the launch line after it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from pydantic import JsonValue

from specdoctor.core.copy_line import making
from specdoctor.core.hypothesis import ConfigEdit, edited
from specdoctor.core.launch import CorrectedCopy, LaunchChange
from specdoctor.engines.shell_line import shell_line
from specdoctor.render.layout import paste_lines

CONFIG: dict[str, JsonValue] = {"draft": {"ids": [1, 2], "old": "it's"}, "norm": False}
EDITS = (
    ConfigEdit(key="draft.ids", value=[0, 3]),
    ConfigEdit(key="draft.old"),
    ConfigEdit(key="eagle.words", value=["it's", 'a "b"', {"x": True}]),
    ConfigEdit(key="norm", value=True),
)


def test_what_is_shown_makes_the_folder_and_starts_the_server_with_it(tmp_path: Path) -> None:
    source = tmp_path / "a head"
    source.mkdir()
    (source / "config.json").write_text(json.dumps(CONFIG))
    (source / "model.safetensors").write_bytes(b"weights")
    server = tmp_path / "server"
    server.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/started\n')
    server.chmod(0o755)
    copies = CorrectedCopy(source=str(source), edits=EDITS)
    change = LaunchChange(label="corrected", copies=copies, image="engine:1")
    argv = (str(server), "--draft", copies.place, "--port", "30000", *(f"--flag-{n}" for n in range(9)))
    launch = shell_line(argv, change, flags_from=1, prefix="X")
    shown = "\n".join(line for command in (making(copies), launch) for line in paste_lines(command, width=60))
    subprocess.run(["bash", "-n", "-c", shown], check=True)
    subprocess.run(["bash", "-ec", shown], check=True)
    assert (tmp_path / "started").read_text().split("\n")[:-1] == list(argv[1:])
    made = Path(copies.place)
    assert json.loads((made / "config.json").read_text()) == edited(CONFIG, EDITS)
    assert (made / "model.safetensors").is_symlink()
    assert json.loads((source / "config.json").read_text()) == CONFIG
    again = subprocess.run(["bash", "-c", making(copies)], check=False, capture_output=True)
    assert again.returncode != 0, "a folder that is there is not written over"


NESTED = (ConfigEdit(key="eagle_config.ids", value=[0, 3]), ConfigEdit(key="a.b.c", value=1), ConfigEdit(key="x.gone"))


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"eagle_config": None, "a": None, "x": None},
        {"eagle_config": [1], "a": {"b": "text"}, "x": 3},
        {"eagle_config": {"ids": [1], "kept": 1}, "a": {"b": {"c": 0, "d": None}}, "x": {"gone": 1, "stays": 2}},
        {"architectures": ["Köpfe"]},
    ],
)
def test_an_edit_is_what_a_run_makes_of_it(tmp_path: Path, config: dict[str, JsonValue]) -> None:
    source = tmp_path / "head"
    source.mkdir()
    (source / "config.json").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")
    copies = CorrectedCopy(source=str(source), edits=NESTED)
    subprocess.run(["sh", "-ec", making(copies)], check=True, env={"PATH": os.environ["PATH"], "LC_ALL": "C"})
    assert json.loads(Path(copies.place, "config.json").read_text()) == edited(config, NESTED)


@pytest.mark.parametrize("config", ["[1]", "null", "{", None])
def test_where_it_fails_nothing_is_half_made(tmp_path: Path, config: str | None) -> None:
    source = tmp_path / "head"
    source.mkdir()
    (source / "model.safetensors").write_bytes(b"weights")
    if config is not None:
        (source / "config.json").write_text(config)
    copies = CorrectedCopy(source=str(source), edits=NESTED)
    started = f"{making(copies)} && touch {tmp_path}/started"
    assert subprocess.run(["sh", "-c", started], check=False, capture_output=True).returncode != 0
    assert [path.name for path in tmp_path.iterdir()] == ["head"]


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    source, kept = tmp_path / "head", tmp_path / "kept"
    source.mkdir()
    kept.mkdir()
    (source / "config.json").write_text("{}")
    copies = CorrectedCopy(source=str(source), edits=NESTED, kept=str(kept))
    assert subprocess.run(["sh", "-c", making(copies)], check=False, capture_output=True).returncode != 0
    assert (sorted(path.name for path in tmp_path.iterdir()), list(kept.iterdir())) == (["head", "kept"], [])
