"""Excerpts and cases of SGLang for the tests of its adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

FOLDER = Path(__file__).parent.parent / "data" / "engine-sglang"


def excerpt(name: str) -> str:
    """A file as it is: carriage returns inside lines stay."""
    return (FOLDER / name).read_bytes().decode("utf-8")


def cases(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = YAML(typ="safe").load(excerpt(name))
    return loaded
