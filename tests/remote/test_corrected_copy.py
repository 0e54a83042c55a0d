"""A launch on a copy of the drafter's folder with its config.json corrected: links, and the folder itself untouched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdoctor.core.hypothesis import ConfigEdit
from specdoctor.core.hypothesis import edited as by_core
from specdoctor.remote.parts.corrected_copy import edited
from tests.remote.orders import argv_of, call, order, refused, relaunch, restored, run_folder
from tests.remote.workplace import Workplace

IDS = {"key": "eagle_config.eagle_aux_hidden_state_layer_ids", "value": [3, 31, 59], "needs": ""}
FLAG = "--speculative-draft-model-path"
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3), lambda inner: st.dictionaries(st.sampled_from("abc"), inner)
)


slow = pytest.mark.slow


@pytest.fixture
def head(place: Workplace) -> Path:
    """A drafter's folder: a configuration, weights, and a folder with a record."""
    folder = place.root / "models" / "head"
    (folder / "train").mkdir(parents=True)
    (folder / "config.json").write_text('{"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 30, 58], "x": 1}}')
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "train" / "run.yaml").write_text("states: [3, 31, 59]")
    return folder


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def corrected(head: Path, **more: Any) -> dict[str, Any]:
    place = more.get("kept") or f"{head}-corrected"
    return {"set_flags": {FLAG: [place]}, "copies": {"source": str(head), "edits": [IDS], **more}}


@slow
def test_the_copy_is_links_and_a_corrected_configuration_and_goes_with_the_run(place: Workplace, head: Path) -> None:
    server = place.start(FLAG, str(head))
    before = contents(head)
    found = relaunch(place, server, **corrected(head))
    assert found["outcome"]["status"] == "ready"
    copy = Path(argv_of(found["outcome"]["server"]["pid"])[-1])
    assert copy == run_folder(place) / "copy-a1" / "head"
    assert found["argv"][-1] == str(copy)
    config = json.loads((copy / "config.json").read_text())
    assert config == {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [3, 31, 59], "x": 1}}
    assert (copy / "model.safetensors").is_symlink()
    assert (copy / "train" / "run.yaml").read_text() == "states: [3, 31, 59]"
    assert restored(place, server)["status"] == "restored"
    call(place, cmd="release", run="run1")
    assert not run_folder(place).exists()
    assert contents(head) == before


@slow
def test_a_copy_that_is_to_stay_is_made_where_it_was_asked_for_and_never_over_anything(
    place: Workplace, head: Path
) -> None:
    server = place.start(FLAG, str(head))
    kept = place.root / "models" / "head-right"
    assert relaunch(place, server, **corrected(head, kept=str(kept)))["outcome"]["status"] == "ready"
    restored(place, server)
    call(place, cmd="release", run="run1")
    assert (
        json.loads((kept / "config.json").read_text())["eagle_config"]["eagle_aux_hidden_state_layer_ids"]
        == IDS["value"]
    )
    again = place.start(FLAG, str(head))
    asked = order(again.ref, **corrected(head, kept=str(kept)))
    assert "File exists" in refused(place, cmd="begin", order=asked)
    assert argv_of(again.pid)[-1] == str(head)


@slow
@pytest.mark.parametrize(
    ("config", "said"),
    [("[1]", "no configuration"), ("{", "no configuration"), (None, "No such file"), ('{"a": ' * 40_000, "no config")],
)
def test_a_folder_without_a_configuration_is_refused_before_anything_is_stopped(
    place: Workplace, head: Path, config: str | None, said: str
) -> None:
    server = place.start(FLAG, str(head))
    (head / "config.json").unlink()
    if config is not None:
        (head / "config.json").write_text(config)
    assert said in refused(place, cmd="begin", order=order(server.ref, **corrected(head)))
    assert argv_of(server.pid) == server.argv
    assert not (run_folder(place) / "copy-a1").exists() or not any((run_folder(place) / "copy-a1").iterdir())


@slow
def test_a_path_that_would_break_a_launch_line_is_refused(place: Workplace, head: Path) -> None:
    server = place.start(FLAG, str(head))
    odd = head.rename(head.with_name('head"}'))
    assert "no whole path" in refused(place, cmd="begin", order=order(server.ref, **corrected(odd)))


@settings(max_examples=30)
@given(
    config=st.dictionaries(st.sampled_from("abc"), JSON),
    edits=st.lists(st.tuples(st.sampled_from(["a", "a.b", "a.b.c", "b.a"]), JSON), max_size=3),
)
def test_host_and_client_edit_alike(config: dict[str, Any], edits: list[tuple[str, Any]]) -> None:
    there = edited(config, [{"key": key, "value": value} for key, value in edits])
    assert there == by_core(config, [ConfigEdit(key=key, value=value) for key, value in edits])
