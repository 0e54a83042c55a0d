"""A command line run in-process, in an empty folder, and recorded facts of practice hosts to judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from specdoctor.cli.main import app
from specdoctor.core.operations import SnapshotRequest
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World

Command = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the commands under test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def specdoctor(folder: Path) -> Command:
    """Run `specdoctor WORDS`; standard output and error are kept apart."""

    def run(*words: str, answers: str = "") -> Result:
        return CliRunner().invoke(app, list(words), input=answers)

    return run


@pytest.fixture(scope="session")
def facts_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A facts file of a practice world, as the probe would print it."""
    place = tmp_path_factory.mktemp("facts")

    def made(world: str) -> Path:
        path = place / f"{world}.json"
        if not path.exists():
            facts = SimulatedHost(World.from_yaml(world), seed=1).snapshot(SnapshotRequest())
            path.write_text(facts.model_dump_json(by_alias=True), encoding="utf-8")
        return path

    return made


def document(result: Result) -> dict[str, object]:
    """The one JSON document on standard output."""
    parsed = json.loads(result.stdout)
    assert isinstance(parsed, dict)
    return parsed


def lines_with(text: str, words: Sequence[str]) -> list[str]:
    return [line for line in text.splitlines() if all(word in line for word in words)]
