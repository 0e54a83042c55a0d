"""Configurations with numbers that no model can have: told with file and key by every command that reads them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Command
from tests.cli.test_drafter_eval import V, head_folder
from tests.drafter.folders import head_config, put, target_config


@pytest.fixture
def states(tmp_path: Path) -> Path:
    path = tmp_path / "states.npz"
    names = {name: np.zeros((8, V), dtype=np.float32) for name in ("out(0)", "out(1)", "out(4)")}
    np.savez(path, tokens=np.arange(8), **{"embed_tokens.weight": np.eye(V, dtype=np.float32)}, **names)
    return path


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"rope_theta": math.nan}, "rope_theta is nan"),
        ({"rope_theta": 0}, "rope_theta is 0"),
        ({"rms_norm_eps": "x"}, "rms_norm_eps is 'x'"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": "x"}}, "rope_scaling.factor is 'x'"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000"),
    ],
)
def test_the_drafter_is_not_calculated_on_them(
    config: dict[str, Any], said: str, specdoctor: Command, tmp_path: Path, states: Path
) -> None:
    folder = head_folder(tmp_path / "head", **config)
    found = specdoctor("drafter", "eval", "--draft", str(folder), "--states", str(states))
    assert found.exit_code == 2
    assert f"{folder}/config.json: " in found.stderr.replace("\n", "")
    assert said in " ".join(found.stderr.split())


@pytest.mark.parametrize(
    ("of_target", "of_draft", "said"),
    [
        ({"num_hidden_layers": 10**9}, {}, "num_hidden_layers is 1000000000"),
        ({}, {"eagle_config": {"eagle_aux_hidden_state_layer_ids": list(range(100_000))}}, "lists 100000 layers"),
        ({}, {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 10**12, 3]}}, "holds 1000000000000"),
        ({"rope_theta": -1}, {}, "rope_theta is -1"),
    ],
)
def test_no_wiring_is_judged_by_them(
    of_target: dict[str, Any], of_draft: dict[str, Any], said: str, specdoctor: Command, tmp_path: Path
) -> None:
    target = put(tmp_path / "target", target_config(**of_target), {})
    draft = put(tmp_path / "draft", {**head_config(), **of_draft}, {})
    found = specdoctor("wiring", "--draft", str(draft), "--target", str(target), "--engine", "sglang")
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())


def test_a_stored_token_beyond_the_vocabulary_is_told_with_file_and_place(
    specdoctor: Command, tmp_path: Path, states: Path
) -> None:
    arrays = dict(np.load(states))
    np.savez(states, **{**arrays, "tokens": np.array([0, 1, 2, V + 3, 4, 5, 6, 7])})
    found = specdoctor("drafter", "eval", "--draft", str(head_folder(tmp_path / "head")), "--states", str(states))
    assert found.exit_code == 2
    said = " ".join(found.stderr.split())
    assert f"token {V + 3} at index 3 is beyond the embedding's {V} rows" in said
    assert "states.npz" in said


def test_more_draft_steps_than_any_engine_makes_are_a_slip(specdoctor: Command) -> None:
    found = specdoctor("drafter", "gap", "--trained", "0.7", "--served", "999999999999:1.6")
    assert found.exit_code == 2
    assert "draft steps is 999999999999, expected at most 1024" in " ".join(found.stderr.split())
