"""What every start of the program costs: no heavy library is loaded before a command needs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from specdoctor import assembly

HEAVY = {"asyncssh", "langgraph", "numpy", "openai", "paramiko", "scipy"}


def loaded_by(code: str) -> set[str]:
    """Top-level packages in memory after a fresh interpreter has run `code`."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return {name.split(".")[0] for name in json.loads(run.stdout.splitlines()[-1])}


ASSEMBLY = ", ".join(
    f"specdoctor.assembly.{module.stem}" for module in sorted(Path(assembly.__path__[0]).glob("[!_]*.py"))
)


def test_heavy_libraries_would_be_seen() -> None:
    assert "numpy" in loaded_by("import numpy.linalg")


@pytest.mark.parametrize("module", ["specdoctor.cli.main", ASSEMBLY, "specdoctor.core.events"])
def test_importing_loads_no_heavy_library(module: str) -> None:
    loaded = loaded_by(f"import {module}")
    assert "specdoctor" in loaded
    assert loaded & HEAVY == set()


def test_help_is_shown_without_a_heavy_library() -> None:
    code = "import contextlib, io\nfrom specdoctor.cli.main import run\n"
    code += "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
    code = "import sys\nsys.argv = ['specdoctor', '--help']\n" + code + "    run()"
    assert loaded_by(code) & HEAVY == set()
