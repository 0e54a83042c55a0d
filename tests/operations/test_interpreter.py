"""Finding a Python on the host without a round trip of its own, on hosts with odd PATHs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from specdoctor.operations.interpreter import NO_PYTHON, picking, running

PROGRAM = b"import sys; print(sys.executable, sys.flags.isolated)"
TOOLS = ("sh", "readlink", "env")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for PATH with a shell in it and no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        found = subprocess.run(["sh", "-c", f"command -v {tool}"], capture_output=True, text=True, check=True).stdout
        (folder / tool).symlink_to(found.strip())
    return folder


def run(argv: tuple[str, ...], tools: Path) -> subprocess.CompletedProcess[bytes]:
    empty = tools.parent / "proc"
    empty.mkdir(exist_ok=True)
    environment = {"PATH": str(tools), "HOST_PROC": str(empty)}
    return subprocess.run(argv, input=PROGRAM, capture_output=True, env=environment, timeout=30, check=False)


def wrapper(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_configured_one_comes_first(tools: Path) -> None:
    wrapper(tools, "python3", "exit 1")
    done = run(picking(sys.executable), tools)
    assert done.stdout.decode().split() == [sys.executable, "1"]


def test_one_that_does_not_work_or_is_too_old_is_passed_over(tools: Path) -> None:
    wrapper(tools, "python3", "exit 1")
    wrapper(tools, "python", f'exec {sys.executable} "$@"')
    done = run(picking("/nowhere/python3"), tools)
    assert done.stdout.decode().split()[1] == "1"


def without_usual_places(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The same command for a host that has no Python in /usr/bin either."""
    return ("env", "HOST_USR=/nowhere", *argv)


def test_the_python_of_a_running_process_is_found(tools: Path) -> None:
    process = tools.parent / "proc" / "77"
    process.mkdir(parents=True)
    (process / "exe").symlink_to(Path(sys.executable).resolve())
    done = run(without_usual_places(picking(None)), tools)
    assert done.returncode == 0
    assert Path(done.stdout.decode().split()[0]).resolve() == Path(sys.executable).resolve()


def test_without_any_the_fall_back_runs_with_its_arguments(tools: Path) -> None:
    command = without_usual_places(picking(None, fallback='echo "shell: $1, $2"', arguments=("a b", "c'd")))
    assert run(command, tools).stdout == b"shell: a b, c'd\n"


def test_without_any_and_without_fall_back_the_exit_code_says_so(tools: Path) -> None:
    assert run(without_usual_places(picking(None)), tools).returncode == NO_PYTHON


def test_a_known_one_is_called_directly(tools: Path) -> None:
    argv = running(sys.executable)
    assert argv[0] == sys.executable
    assert run(argv, tools).stdout.decode().split() == [sys.executable, "1"]
