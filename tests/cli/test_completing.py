"""What the shell offers after a Tab, asked as the shell asks it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("specdoctor")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("specdoctor causes WIRE-", "WIRE-1"),
        ("specdoctor check layer", "layer-wiring"),
        ("specdoctor demo --world kimi", "kimi-k2.5-eagle3"),
        ("specdoctor replay phantom", "phantom-regression"),
        ("specdoctor doctor gpu", "gpu-7"),
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
