"""Where an engine cannot be had the command says what is missing, does nothing, and ends with 5."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.vllm_engine import TORCH, Vllm

ROOT = Path(__file__).parents[2]


def test_the_torch_wheel_is_looked_for_where_pip_would_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert f"{TORCH} for cp3{sys.version_info.minor}" in Vllm().missing(tmp_path / "cache")
    (tmp_path / f"{TORCH}-cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-any.whl").touch()
    assert Vllm().missing(tmp_path / "cache") == ""


@pytest.mark.slow
def test_the_command_says_so_and_ends_with_5(tmp_path: Path) -> None:
    env = {**os.environ, "PIP_FIND_LINKS": "", "SPECDOCTOR_LIVE_CACHE": str(tmp_path / "cache")}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.live", "vllm"], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 5
    assert "which the package index does not have" in ended.stderr
    assert "PIP_FIND_LINKS" in ended.stderr
    assert not (tmp_path / "cache").exists()
