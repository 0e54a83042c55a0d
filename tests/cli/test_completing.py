"""What the shell offers after a Tab, asked as the shell asks it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from specdoctor.cli.completing import targets
from specdoctor.cli.completing_bash import rejoined

pytestmark = pytest.mark.thorough

PROGRAM = Path(sys.executable).with_name("specdoctor")


@pytest.mark.parametrize(
    ("words", "cursor", "whole", "before"),
    [
        ("specdoctor doctor gpu", 2, ["specdoctor", "doctor", "gpu"], ""),
        ("specdoctor doctor ssh : //", 4, ["specdoctor", "doctor", "ssh://"], "ssh:"),
        (
            "specdoctor doctor ssh : //ann @ g --json",
            6,
            ["specdoctor", "doctor", "ssh://ann@g", "--json"],
            "ssh://ann@",
        ),
        ("specdoctor doctor", 2, ["specdoctor", "doctor"], ""),
    ],
)
def test_words_that_bash_cuts_are_joined(words: str, cursor: int, whole: list[str], before: str) -> None:
    assert rejoined(words.split(), cursor) == (whole, 2, before)


def test_hosts_of_the_ssh_configuration_are_offered_after_the_scheme() -> None:
    assert targets("ss") == ["ssh://"]
    assert targets("ssh://") == ["ssh://[HOST]", "ssh://[HOST:PORT]"], "shown, and nothing is put on the line"
    folder = Path.home() / ".ssh"
    folder.mkdir()
    (folder / "config").write_text("Host gpu-7 *.lab !gpu-9\nHost=gpu-8\n  HostName 10.0.0.8\n")
    assert targets("ssh://") == ["ssh://gpu-7", "ssh://gpu-8"]
    assert targets("ssh://ann@gpu-8") == ["ssh://ann@gpu-8"]
    assert targets("ssh://x") == []


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("specdoctor causes WIRE-", "WIRE-1"),
        ("specdoctor check layer", "layer-wiring"),
        ("specdoctor demo --world kimi", "kimi-k2.5-eagle3"),
        ("specdoctor replay phantom", "phantom-regression"),
        ("specdoctor doctor gpu", "gpu-7"),
        ("specdoctor doctor ssh : //[HO", "//[HOST]"),
        ("specdoctor review no-such", ""),
    ],
)
def test_names_are_completed(typed: str, offered: str, tmp_path: Path) -> None:
    (tmp_path / "specdoctor.toml").write_text('[targets.gpu-7]\ntransport = "ssh://gpu-7"\n')
    asked = {"_SPECDOCTOR_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    home = {"HOME": str(tmp_path)}
    done = subprocess.run(
        [PROGRAM],
        check=True,
        env={**os.environ, **home, **asked},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert offered in done.stdout.split("\n")
    assert "Traceback" not in done.stderr
