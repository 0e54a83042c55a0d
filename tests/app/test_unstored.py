"""A store that cannot be written to for a moment loses no event of the run."""

from __future__ import annotations

from typing import ClassVar

import pytest

from specdoctor.core import events as ev
from specdoctor.core.errors import StoreError
from specdoctor.core.ledger import fold
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import MemoryStore, run_of


class Locked(MemoryStore):
    """Refuses what it is given while it is locked."""

    locked = False

    def append(self, run: str, event: ev.Event) -> None:
        if self.locked:
            raise StoreError("database is locked")
        super().append(run, event)


def test_what_could_not_be_stored_goes_before_what_is_stored_next() -> None:
    store = Locked()
    run = run_of(SimulatedHost(World.from_yaml("healthy")), store=store)
    run.emit(ev.RunStarted(run=run.id, target="t", settings=RunSettings(), tool_version="0"))
    store.locked = True
    for text in ("one", "two"):
        with pytest.raises(StoreError):
            run.emit(ev.NoteAdded(text=text, by="me"))
    store.locked = False
    run.emit(ev.NoteAdded(text="three", by="me"))
    assert [e.text for e in store.kept if isinstance(e, ev.NoteAdded)] == ["one", "two", "three"]
    assert [n.text for n in fold(store.kept).notes] == [n.text for n in run.ledger.notes]


class Interrupted(MemoryStore):
    """Keeps what it is given and then fails, as where a Ctrl-C comes or a copy cannot be written behind the commit."""

    failures: ClassVar[list[type[BaseException]]] = []

    def append(self, run: str, event: ev.Event) -> None:
        super().append(run, event)
        if self.failures:
            raise self.failures.pop()("no more room")


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, StoreError])
def test_what_reached_the_store_before_a_failure_is_not_stored_again(failure: type[BaseException]) -> None:
    store = Interrupted()
    run = run_of(SimulatedHost(World.from_yaml("healthy")), store=store)
    run.emit(ev.RunStarted(run=run.id, target="t", settings=RunSettings(), tool_version="0"))
    store.failures = [failure, failure]
    for text in ("one", "two"):
        with pytest.raises(failure):
            run.emit(ev.NoteAdded(text=text, by="me"))
    run.emit(ev.NoteAdded(text="three", by="me"))
    assert [e.text for e in store.kept if isinstance(e, ev.NoteAdded)] == ["one", "two", "three"]
    assert fold(store.kept).count == run.ledger.count
