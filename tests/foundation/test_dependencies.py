"""What pyproject.toml and the lock promise about dependencies."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK_LINES = (ROOT / "requirements-dev.lock").read_text().splitlines()

DECLARED = [
    *PROJECT["project"]["dependencies"],
    *(line for extra in PROJECT["project"]["optional-dependencies"].values() for line in extra),
]
LOCKED = {
    canonicalize_name(requirement.name): requirement
    for requirement in (Requirement(line) for line in LOCK_LINES if line and not line.lstrip().startswith("#"))
}


@pytest.mark.parametrize("line", [*DECLARED, *PROJECT["build-system"]["requires"]])
def test_has_a_lower_bound(line: str) -> None:
    assert [clause for clause in Requirement(line).specifier if clause.operator in (">=", "~=", "==")]


@pytest.mark.parametrize("line", DECLARED)
def test_is_locked_within_its_bounds(line: str) -> None:
    requirement = Requirement(line)
    (pin,) = LOCKED[canonicalize_name(requirement.name)].specifier
    assert pin.operator == "=="
    assert requirement.specifier.contains(Version(pin.version))


def test_build_backend_is_locked_because_setup_builds_without_isolation() -> None:
    for line in PROJECT["build-system"]["requires"]:
        assert canonicalize_name(Requirement(line).name) in LOCKED


def test_lock_names_no_host_and_no_local_path() -> None:
    suspicious = re.compile(r"://|\bfile:/|@ |(^|\s)/|--(extra-)?index-url|--find-links|--trusted-host")
    assert [line for line in LOCK_LINES if suspicious.search(line)] == []


def test_oldest_python_is_the_one_that_tools_check_for() -> None:
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert PROJECT["tool"]["ruff"]["target-version"] == "py311"
    assert PROJECT["tool"]["mypy"]["python_version"] == "3.11"
