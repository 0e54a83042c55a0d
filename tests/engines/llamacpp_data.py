"""Excerpts of real llama.cpp servers (build 11434) for the tests of its adapter."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "data" / "llamacpp-11434"
SCENARIOS = tuple(sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir()))


def texts_of(scenario: str) -> dict[str, str]:
    """The files of one server, by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((FOLDER / scenario).iterdir())}


def log_of(scenario: str) -> str:
    return texts_of(scenario)["server.log"]
