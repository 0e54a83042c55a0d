"""A run that an exception kills at any moment goes on from its events alone: same verdict, nothing twice."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from specdoctor.app.investigation import investigate, resume, start
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import MemoryStore, run_of

ROUNDS = int(os.environ.get("KILL_ROUNDS", "5"))
SETTINGS = {"allow": 2, "requests": 4, "max_new_tokens": 64}


class Killed(BaseException):
    """Stands for SIGKILL: nothing in specdoctor may catch it."""


class DeadlyStore(MemoryStore):
    """A store in whose process death strikes, before or after the event with this number is kept."""

    def __init__(self, at: int, *, after: bool) -> None:
        super().__init__()
        self.at: int | None = at
        self.after = after

    def append(self, run: str, event: ev.Event) -> None:
        dies = self.at is not None and len(self.kept) == self.at
        if dies and not self.after:
            self.at = None
            raise Killed
        super().append(run, event)
        if dies:
            self.at = None
            raise Killed


def begin(world: World, host: SimulatedHost, store: MemoryStore) -> Run:
    run = run_of(host, store=store)
    start(run, RunSettings.model_validate({"symptom": world.ask.symptom, **SETTINGS}))
    return run


def undisturbed(name: str) -> tuple[Run, int]:
    world = World.from_yaml(name)
    run = begin(world, SimulatedHost(world), MemoryStore())
    return run, investigate(run, checkpoints=None)


def killed_and_resumed(name: str, at: int, *, after: bool) -> tuple[Run, int, SimulatedHost, MemoryStore]:
    world = World.from_yaml(name)
    host, store = SimulatedHost(world), DeadlyStore(at, after=after)
    try:
        run = begin(world, host, store)
        code = investigate(run, checkpoints=None)
    except Killed:
        if not store.kept:
            return (*undisturbed(name), host, store)
        run = run_of(host, store=store)
        resume(run)
        code = investigate(run, checkpoints=None)
    return run, code, host, store


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("kimi-k2.5-eagle3", marks=pytest.mark.slow),
        pytest.param("graphs-off-by-flag", marks=pytest.mark.slow),
        pytest.param("override-is-the-cause", marks=pytest.mark.slow),
    ],
)
def test_killed_anywhere(name: str) -> None:
    whole, code = undisturbed(name)
    assert whole.ledger.verdict is not None
    total = whole.ledger.count
    source = random.Random(f"{name}/{ROUNDS}")
    for _ in range(ROUNDS):
        at, after = source.randrange(total), source.random() < 0.5
        run, again, host, store = killed_and_resumed(name, at, after=after)
        where = f"killed {'after' if after else 'before'} event {at}"
        assert run.ledger.verdict is not None, where
        assert (again, run.ledger.verdict.verdict) == (code, whole.ledger.verdict.verdict), where
        assert run.ledger.restored is True, where
        if not store.kept:
            continue
        starts = Counter(e.action for e in store.kept if isinstance(e, ev.ActionStarted))
        ends = Counter(e.action for e in store.kept if isinstance(e, ev.ActionEnded))
        assert set(starts.values()) == {1}, where
        assert ends == starts, where
        assert host.starts == run.ledger.restarts == whole.ledger.restarts, where
        launches = [e.change.key for e in store.kept if isinstance(e, ev.ServerRelaunched)]
        assert len(set(launches)) == len(launches), where


def test_a_resumed_run_may_be_given_more_permission() -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    host, store = SimulatedHost(world), MemoryStore()
    run = run_of(host, store=store)
    start(run, RunSettings.model_validate({"symptom": world.ask.symptom, **SETTINGS, "allow": 0}))
    assert investigate(run, checkpoints=None) == 4
    again = run_of(host, store=store)
    resume(again, allow=ev.Risk.RESTART)
    assert investigate(again, checkpoints=None) == 0
    assert again.ledger.restored is True
