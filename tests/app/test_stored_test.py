"""A drafter tested alone from files of its host: calculated once, cited, and left out where it cannot be."""

from __future__ import annotations

import json

import pytest

from specdoctor.app import stored_test as part
from specdoctor.app.scene import scene_of
from specdoctor.app.stored_test import stored_test
from specdoctor.assembly.catalogue import all_engines
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.ports import Scene
from specdoctor.drafter.in_scene import TESTED, alone_as_trained
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World


class Counting(SimulatedHost):
    """Counts what is read of files."""

    bytes_read = 0

    def read_range(self, path: str, *, offset: int, length: int) -> bytes:
        raw = super().read_range(path, offset=offset, length=length)
        self.bytes_read += len(raw)
        return raw


def seen(host: SimulatedHost) -> Scene:
    return scene_of(host.snapshot(SnapshotRequest()), engines=all_engines(), target="lab")


def test_it_is_calculated_once_and_cited_by_the_stored_states() -> None:
    host = Counting(World.from_yaml("kimi-k2.5-eagle3"))
    first = seen(host)
    assert alone_as_trained(first) is None
    facts = stored_test(first, host, before=None)
    assert facts is not None
    tested = first.model_copy(update={"facts": facts})
    found = alone_as_trained(tested)
    assert found is not None
    assert found.where == "/models/Kimi-K2.5-eagle3/train/states-sample.safetensors"
    assert found.conditional[0].value == pytest.approx(0.747, abs=0.02)
    document = json.loads(next(f.text or "" for n, f in facts.files.items() if n.endswith(TESTED)))
    served = next(fed for fed in document["fed"] if fed["states"] == ["out(2)", "out(30)", "out(58)"])
    assert served["steps"][0]["own"]["value"] == pytest.approx(0.60, abs=0.02)
    read = host.bytes_read
    again = stored_test(seen(host), host, before=tested)
    assert again is not None
    assert host.bytes_read == read


def test_what_is_large_is_not_read_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Counting(World.from_yaml("kimi-k2.5-eagle3"))
    scene = seen(host)
    monkeypatch.setattr(part, "MOST_BYTES", 1 << 20)
    assert stored_test(scene, host, before=None) is None
    assert host.bytes_read == 0


class Broken(SimulatedHost):
    """Hands out other bytes than it lists."""

    def read_range(self, path: str, *, offset: int, length: int) -> bytes:
        return bytes(length)


class Away(SimulatedHost):
    def read_range(self, path: str, *, offset: int, length: int) -> bytes:
        raise PermissionError(13, "no permission", path)


@pytest.mark.parametrize("kind", [Broken, pytest.param(Away, marks=pytest.mark.slow)])
def test_files_that_cannot_be_calculated_leave_the_question_open(kind: type[SimulatedHost]) -> None:
    host = kind(World.from_yaml("kimi-k2.5-eagle3"))
    assert stored_test(seen(host), host, before=None) is None


def test_without_a_record_nothing_is_fed() -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    models = tuple(m.model_copy(update={"files": {}}) if m.kind == "eagle3" else m for m in world.models)
    host = Counting(world.model_copy(update={"models": models}))
    assert stored_test(seen(host), host, before=None) is None
    assert host.bytes_read == 0
