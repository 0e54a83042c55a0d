"""Devices, sockets, pipes and folders in the place of files: every command says what they are, and none hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command

pytestmark = pytest.mark.thorough

WORDS = {
    "facts": ("investigate", "--from", "{}"),
    "run": ("review", "{}"),
    "forecast": ("predict", "{}"),
    "sides": ("compare", "{}", "{}"),
    "world": ("lab", "up", "{}"),
    "demo": ("demo", "--world", "{}"),
    "targets": ("doctor", "name", "--targets", "{}"),
    "training log": ("drafter", "gap", "--training-log", "{}", "--served", "1:1.6"),
    "ssh configuration": ("doctor", "ssh://nowhere", "--ssh-config", "{}"),
    "playbook": ("replay", "{}"),
    "files": ("triage", "{}"),
    "training of a test": ("drafter", "eval", "--draft", ".", "--states", "s.npz", "--training", "{}"),
    "prompts of an export": ("drafter", "export", "--model", "m", "--out", "o", "--print", "--prompts", "{}"),
    "prompts": ("bench", "local:", "--prompts", "{}", "--allow", "load"),
    "training": ("wiring", "--draft", ".", "--target", ".", "--training", "{}"),
    "folder": ("wiring", "--draft", "{}", "--target", "."),
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS.keys())
def test_no_command_reads_a_device(specdoctor: Command, words: tuple[str, ...]) -> None:
    result = specdoctor(*(word.format("/dev/zero") for word in words))
    assert result.exit_code in (2, 5), result.output
    assert "/dev/zero" in result.stderr
    assert "Traceback" not in result.output


QUICK = ("files", "targets", "run")
BAD = ("loop", "loop/below", "missing/file", "file/below", "n" * 300, "~nobody-of-that-name/x")


@pytest.mark.parametrize(
    "words", [pytest.param(w, id=n, marks=[pytest.mark.slow] * (n not in QUICK)) for n, w in WORDS.items()]
)
def test_a_name_that_leads_to_no_file_is_wrong_usage(specdoctor: Command, folder: Path, words: tuple[str, ...]) -> None:
    (folder / "loop").symlink_to("loop")
    (folder / "file").write_text("x")
    for name in BAD:
        result = specdoctor(*(word.format(name) for word in words))
        assert result.exit_code == 2, (name, result.output)
        assert name[:30] in result.stderr
        assert "a bug of specdoctor" not in result.stderr


OUTPUTS = {
    "junit": ("replay", "read-only-checkup", "--target", "local:", "--junit", "{}"),
    "world": ("lab", "random", "--seed", "1", "--out", "{}"),
    "host": ("lab", "up", "healthy", "--state-dir", "{}"),
    "playbook": ("playbook", "from", "no-run", "--output", "{}", "--force"),
}


@pytest.mark.parametrize("name", ["loop", "file/below", "n" * 300, "pipe", "folder"])
@pytest.mark.parametrize("words", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_what_cannot_be_written_is_said_before_the_work(
    specdoctor: Command, folder: Path, words: tuple[str, ...], name: str
) -> None:
    (folder / "loop").symlink_to("loop")
    (folder / "file").write_text("x")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    if name == "folder" and "--state-dir" in words:
        return
    result = specdoctor(*(word.format(name) for word in words))
    assert result.exit_code == 2, result.output
    assert name[:30] in result.stderr
    assert "logging in" not in result.stderr


@pytest.mark.parametrize("key", ["prompts", "ssh_config"])
@pytest.mark.parametrize("name", ["loop", "n" * 300, "~nobody-of-that-name/x"])
def test_paths_of_a_targets_file_lead_to_a_file(specdoctor: Command, folder: Path, key: str, name: str) -> None:
    (folder / "loop").symlink_to("loop")
    (folder / "specdoctor.toml").write_text(f'[targets.a]\ntransport = "ssh://nowhere"\n{key} = "{name}"\n')
    result = specdoctor("investigate", "a")
    assert result.exit_code == 2, result.output
    assert name[:30] in result.stderr


@pytest.mark.parametrize("words", [("review", "folder"), ("predict", "folder"), ("compare", "folder", "folder")])
def test_a_folder_without_a_transcript_is_wrong_usage(
    specdoctor: Command, folder: Path, words: tuple[str, ...]
) -> None:
    (folder / "folder").mkdir()
    result = specdoctor(*words)
    assert result.exit_code == 2
    assert "folder" in result.stderr


@pytest.mark.parametrize("name", ["world", "demo", "targets", "ssh configuration", "playbook", "prompts"])
def test_what_is_read_again_later_is_no_pipe(specdoctor: Command, folder: Path, name: str) -> None:
    os.mkfifo(folder / "pipe")
    result = specdoctor(*(word.format("pipe") for word in WORDS[name]))
    assert result.exit_code == 2
    assert "read only once" in result.stderr


@pytest.mark.slow
def test_a_shell_hands_in_what_a_command_writes(tmp_path: Path) -> None:
    log = "[2026-11-29 18:00:00] Decode batch, #running-req: 1, #token: 9, gen throughput (token/s): 9.5, #queue-req: 0"
    line = f"{sys.executable} -m specdoctor triage --json <(sleep 1; echo '{log}')"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert done.returncode == 3, done.stderr
    assert "sglang" in done.stdout
