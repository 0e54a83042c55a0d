"""What is sent to a host is one text that needs nothing but an old Python."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from specdoctor.core.operations import SnapshotRequest
from specdoctor.operations.programs import (
    PARAMS_LINE,
    ProgramName,
    joined_parts,
    parts_of,
    probe_program,
    program_text,
    source,
)

NAMES: tuple[ProgramName, ...] = get_args(ProgramName)


def top_names(text: str) -> list[str]:
    """Names that a module's own statements bind, imports apart."""
    found: list[str] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Assign):
            found += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.append(node.target.id)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_parts_do_not_overwrite_each_others_names(name: ProgramName) -> None:
    by_part = {part: top_names(source(part)) for part in parts_of(name)}
    everything = [bound for names in by_part.values() for bound in names]
    assert sorted(everything) == sorted(set(everything))


@pytest.mark.parametrize("name", NAMES)
def test_own_imports_are_plain(name: ProgramName) -> None:
    """Joining drops them, so they may neither rename nor stand inside a function."""
    for part in parts_of(name):
        tree = ast.parse(source(part))
        own = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and "specdoctor" in str(node.module)]
        assert all(node in tree.body for node in own)
        assert all(alias.asname is None for node in own for alias in node.names)


@pytest.mark.parametrize("name", NAMES)
def test_a_joined_program_knows_nothing_of_the_package(name: ProgramName) -> None:
    text = joined_parts(name)
    assert "from specdoctor" not in text
    assert text.isascii()
    assert text.count(PARAMS_LINE) == 1
    assert isinstance(ast.parse(text, feature_version=(3, 6)), ast.Module)
    assert len(text) < 260_000


@pytest.mark.parametrize("text", ["'", '"', "\\", "\n", "\u00e9\U0001f600", "'''\"\"\"", "{}", "\x00\x7f", "%s{x}"])
def test_parameters_arrive_unchanged(text: str) -> None:
    names: dict[str, str] = {"__name__": "not main"}
    exec(program_text("probe", {"files": [text]}), names)
    assert json.loads(names["PARAMS_JSON"]) == {"files": [text]}


def test_the_printed_probe_runs_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "probe.py"
    path.write_text(probe_program(SnapshotRequest(files=("/nowhere",), http=False)))
    assert path.read_text().startswith("#!/usr/bin/env python3\n")
    run = subprocess.run([sys.executable, "-I", "-S", str(path)], capture_output=True, cwd=tmp_path, check=True)
    facts = json.loads(run.stdout)
    assert facts["schema"] == "specdoctor.facts/1"
    assert "/nowhere" in facts["files"]
    assert list(tmp_path.iterdir()) == [path]
