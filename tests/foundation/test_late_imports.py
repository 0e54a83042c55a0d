"""Heavy libraries are imported by the command that needs them, not by every start of the program."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "specdoctor"

# library -> the places that may import it while they are imported; everyone else does so inside a function, if at all
HOMES = {
    "asyncssh": ("lab/",),
    "langgraph": ("app/graph.py",),
    "numpy": ("analysis/", "drafter/alone/", "drafter/dumps/", "lab/"),
    "openai": ("planners/llm",),
    "paramiko": ("transports/ssh",),
    "rich": ("render/",),
    "scipy": ("analysis/", "lab/"),
}


def imported_at_start(statements: list[ast.stmt]) -> Iterator[str]:
    """Top-level packages that running these statements imports; what is for the type checker alone is left out."""
    for statement in statements:
        match statement:
            case ast.Import(names=names):
                yield from (alias.name.split(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.split(".")[0]
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=orelse):
                yield from imported_at_start(orelse)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                pass
            case _:
                for field in ("body", "orelse", "finalbody"):
                    yield from imported_at_start(getattr(statement, field, []))
                for handler in getattr(statement, "handlers", []):
                    yield from imported_at_start(handler.body)


def strangers(source: str, place: str) -> set[str]:
    """Heavy libraries that a module at `place` (path inside the package) imports at its start, away from home."""
    return {
        name
        for name in imported_at_start(ast.parse(source).body)
        if name in HOMES and not place.startswith(HOMES[name])
    }


def test_heavy_libraries_are_imported_at_home_or_late() -> None:
    modules = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert len(modules) > 500
    assert {place: found for place, source in modules.items() if (found := strangers(source, place))} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import numpy as np", {"numpy"}),
        ("from scipy.stats import t", {"scipy"}),
        ("try:\n    import paramiko\nexcept ImportError:\n    import asyncssh", {"paramiko", "asyncssh"}),
        ("class A:\n    import openai", {"openai"}),
        ("if TYPE_CHECKING:\n    import numpy\nelse:\n    import rich", {"rich"}),
        ("def f():\n    import numpy", set()),
        ("from specdoctor.analysis import numpy", set()),
    ],
)
def test_finds_what_it_looks_for(source: str, found: set[str]) -> None:
    assert strangers(source, "checks/some.py") == found


def test_home_is_allowed() -> None:
    assert strangers("import numpy, paramiko", "analysis/some.py") == {"paramiko"}
    assert strangers("import numpy, paramiko", "transports/ssh_session.py") == {"numpy"}
