"""What a keeper itself says is up counts as this run's server, even where a lost worker wrote nothing down."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.remote.workplace import loaded, start_ticks

lifecycle = loaded("lifecycle")
REF = {"pid": os.getpid(), "start_ticks": start_ticks(os.getpid()), "port": 1}
GONE = {"pid": 2**22 + 9, "start_ticks": 1, "port": 1}


class Said(lifecycle.Plain):  # type: ignore[misc, name-defined]  # made from the joined program
    """A keeper that says what its name tells it to say."""

    kind = "said"

    def found(self, record: dict[str, Any]) -> tuple[dict[str, int], bool] | None:
        return (REF, self.keeper["name"] == "test") if self.keeper["name"] else None


lifecycle.DRIVERS["said"] = Said


def record(name: str) -> dict[str, Any]:
    return {
        "keeper": {"kind": "said", "name": name}, "server": GONE, "boot_id": lifecycle.boot_id(),
        "argv": lifecycle.argv_of(os.getpid()),
    }  # fmt: skip


def write_action(folder: Path) -> None:
    state = lifecycle.new_state("launch", {"run": "run1", "action": "a1"}, GONE)
    lifecycle.write_json(f"{folder}/action-a1.json", {**state, "stopped": True})


@pytest.mark.parametrize(("name", "whose"), [("test", "a1"), ("original", "original")])
def test_it_is_found_and_may_be_stopped(tmp_path: Path, name: str, whose: str) -> None:
    write_action(tmp_path)
    assert lifecycle.running(str(tmp_path), record(name)) == (REF, whose)
    lifecycle.check_stoppable(str(tmp_path), record(name), REF)


def test_what_nobody_names_is_not_stopped(tmp_path: Path) -> None:
    write_action(tmp_path)
    assert lifecycle.running(str(tmp_path), record("")) == (None, "")
    with pytest.raises(lifecycle.Refusal, match="no server of this run"):
        lifecycle.check_stoppable(str(tmp_path), record(""), REF)


def test_an_original_that_was_told_to_stop_does_not_count_as_running(tmp_path: Path) -> None:
    assert lifecycle.is_original(str(tmp_path), record("original"), "original")
    write_action(tmp_path)
    assert not lifecycle.is_original(str(tmp_path), record("original"), "original")
    state = lifecycle.read_json(f"{tmp_path}/action-a1.json")
    lifecycle.write_json(f"{tmp_path}/action-a1.json", {**state, "outcome": {"status": "failed"}})
    assert lifecycle.is_original(str(tmp_path), record("original"), "original")
