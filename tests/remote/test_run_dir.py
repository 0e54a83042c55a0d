"""The private folder of a run, with several runs and several commands of one run at the same moment."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from specdoctor.remote.parts import run_dir

ROUNDS = 40


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return tmp_path


def everything(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*"))


def test_the_last_of_two_runs_takes_the_folders_away_that_the_first_made(home: Path) -> None:
    first, second = run_dir.make_run("r1"), run_dir.make_run("r2")
    run_dir.remove_run(first)
    assert Path(second).is_dir()
    removed = run_dir.remove_run(second)
    assert removed[-1] == str(home / ".local")
    assert everything(home) == []


def test_folders_that_were_there_stay(home: Path) -> None:
    (home / ".local" / "state").mkdir(parents=True)
    run_dir.remove_run(run_dir.make_run("r1"))
    assert everything(home) == [".local", ".local/state"]


def test_a_folder_that_somebody_fills_meanwhile_stays(home: Path) -> None:
    folder = run_dir.make_run("r1")
    (home / ".local" / "share").mkdir()
    run_dir.remove_run(folder)
    assert everything(home) == [".local", ".local/share"]


def test_a_base_that_was_there_empty_stays(home: Path) -> None:
    (home / ".local" / "state" / "specdoctor").mkdir(parents=True)
    run_dir.remove_run(run_dir.make_run("r1"))
    assert everything(home) == [".local", ".local/state", ".local/state/specdoctor"]


def _come_and_go(run: str) -> None:
    for _ in range(ROUNDS):
        folder = run_dir.make_run(run)
        run_dir.touch_contact(folder)
        run_dir.remove_run(folder)


def test_runs_that_come_and_go_at_once_leave_nothing_and_stay_in_one_place(home: Path) -> None:
    runs = [multiprocessing.get_context("fork").Process(target=_come_and_go, args=(f"r{n}",)) for n in range(3)]
    for each in runs:
        each.start()
    for each in runs:
        each.join(60)
    assert [each.exitcode for each in runs] == [0, 0, 0]
    assert everything(home) == []
    assert not Path(f"/var/tmp/specdoctor-{os.getuid()}").exists()


def _write_on(folder: str) -> None:
    while Path(folder).is_dir():
        try:
            run_dir.touch_contact(folder)
        except FileNotFoundError:
            return


def test_a_command_that_still_writes_does_not_keep_the_folder(home: Path) -> None:
    for number in range(10):
        folder = run_dir.make_run(f"r{number}")
        writer = multiprocessing.get_context("fork").Process(target=_write_on, args=(folder,))
        writer.start()
        run_dir.remove_run(folder)
        writer.join(20)
        assert writer.exitcode == 0
    assert everything(home) == []
