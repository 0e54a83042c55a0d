"""The command that makes a corrected copy, pasted into a shell, and the launch line after it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

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
