"""The export of states: what is asked first, the program by itself, and its refusals on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import Command

STATES = "embed,out(2),out(30)"
without_torch = pytest.mark.skipif(find_spec("torch") is not None, reason="this Python has torch")


def words(tmp_path: Path, *more: str, prompts: str = "first\nsecond\n") -> tuple[str, ...]:
    (tmp_path / "prompts.txt").write_text(prompts)
    (tmp_path / "model").mkdir(exist_ok=True)
    out = str(tmp_path / "states.safetensors")
    return ("drafter", "export", "--model", str(tmp_path / "model"), "--prompts", "prompts.txt", "--out", out, *more)


def test_nothing_is_loaded_without_permission(specdoctor: Command, tmp_path: Path) -> None:
    shown = specdoctor(*words(tmp_path))
    assert shown.exit_code == 4
    assert "2 answers of up to 80 tokens" in shown.stderr
    assert "--allow load" in shown.stderr


@without_torch
def test_a_python_without_torch_is_refused(specdoctor: Command, tmp_path: Path) -> None:
    shown = specdoctor(*words(tmp_path, "--python", sys.executable, "--allow", "load"))
    assert shown.exit_code == 5
    assert "cannot import what is needed: No module named 'torch'" in shown.stderr
    assert "name a Python that has torch" in shown.stderr


def test_a_file_is_never_written_over(specdoctor: Command, tmp_path: Path) -> None:
    (tmp_path / "states.safetensors").write_bytes(b"mine")
    shown = specdoctor(*words(tmp_path, "--python", sys.executable, "--allow", "load"))
    assert (shown.exit_code, "is not written over" in shown.stderr) == (5, True)
    assert (tmp_path / "states.safetensors").read_bytes() == b"mine"


@without_torch
def test_the_printed_program_carries_its_order_and_runs_by_hand(specdoctor: Command, tmp_path: Path) -> None:
    program = specdoctor(*words(tmp_path, "--states", STATES, "--print")).stdout
    ran = subprocess.run([sys.executable, "-I", "-"], input=program, capture_output=True, text=True, check=False)
    assert ran.returncode == 3
    assert json.loads(ran.stdout.splitlines()[-1])["error"]["kind"] == "no-torch"
    namespace: dict[str, object] = {"__name__": "not main"}
    exec(program, namespace)
    order = json.loads(str(namespace["PARAMS_JSON"]))
    assert (order["entries"], order["prompts"], order["beyond"]) == ([0, 3, 31], ["first", "second"], 16)
    entries = namespace["wanted_entries"]
    assert callable(entries)
    assert entries(None, 61) == [0, 2, 3, 29, 30, 31, 57, 58, 59]
    assert entries(None, 8) == list(range(8))


@pytest.mark.parametrize(
    ("prompts", "more", "said"),
    [
        ("\n\n", (), "no prompt in it"),
        ('["a", 3]', (), "'3' is no prompt"),
        ("[[1, true]]", (), "is no prompt"),
        ("[1, 2", (), "not JSON"),
        ("a", ("--states", "layer 2"), "is no state"),
    ],
)
def test_orders_that_cannot_be_meant(
    specdoctor: Command, tmp_path: Path, prompts: str, more: tuple[str, ...], said: str
) -> None:
    shown = specdoctor(*words(tmp_path, *more, "--allow", "load", prompts=prompts))
    assert (shown.exit_code, said in shown.stderr) == (2, True)


def test_token_ids_are_prompts_too(specdoctor: Command, tmp_path: Path) -> None:
    program = specdoctor(*words(tmp_path, "--print", prompts='[[5, 6, 7], "text"]')).stdout
    assert '[[5, 6, 7], \\"text\\"]' in program.replace("\\\\", "\\")
