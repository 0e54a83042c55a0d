"""Whole investigations in memory: a world on a virtual clock, the real engine adapter, checks, planner and graph."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.assembly.catalogue import all_checks, all_engines
from specdoctor.core.events import Event, RunStarted
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Risk
from specdoctor.core.operations import Progress
from specdoctor.core.ports import Answer, Approver, Batch, Planner
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.rules import RulePlanner


class MemoryStore:
    """Events and artefacts in dictionaries."""

    def __init__(self) -> None:
        self.kept: list[Event] = []
        self.artefacts: dict[str, bytes] = {}

    def append(self, run: str, event: Event) -> None:
        self.kept.append(event)

    def events(self, run: str) -> Iterator[Event]:
        yield from self.kept

    def runs(self) -> list[RunStarted]:
        return [e for e in self.kept if isinstance(e, RunStarted)]

    def put_artefact(self, run: str, name: str, content: bytes) -> str:
        self.artefacts[name] = content
        return "0" * 64

    def artefact(self, run: str, name: str) -> bytes:
        return self.artefacts[name]


class Silent:
    """Shows nothing."""

    def event(self, event: Event, ledger: Ledger) -> None: ...

    def progress(self, action: str, progress: Progress) -> None: ...

    def close(self) -> None: ...


class Scripted:
    """Gives these answers in turn, then none."""

    def __init__(self, answers: Sequence[Answer] = ()) -> None:
        self.answers = list(answers)
        self.asked: list[Batch] = []

    def ask(self, batch: Batch) -> Answer | None:
        self.asked.append(batch)
        return self.answers.pop(0) if self.answers else None


def run_of(
    host: SimulatedHost,
    *,
    store: MemoryStore | None = None,
    approver: Approver | None = None,
    planner: Planner | None = None,
) -> Run:
    return Run(
        id="r-test",
        store=store or MemoryStore(),
        operations=host,
        engines=all_engines(),
        checks=all_checks(),
        planner=planner or RulePlanner(),
        approver=approver or Scripted(),
        onlooker=Silent(),
        clock=host.clock,
    )


def unrecorded(world: World) -> World:
    """The world without the files that its trainers left."""
    models = tuple(
        m.model_copy(update={"files": {k: v for k, v in m.files.items() if "/" not in k}}) for m in world.models
    )
    return world.model_copy(update={"models": models})


def simulated(
    name: str, *, seed: int = 0, allow: Risk = Risk.RESTART, approver: Approver | None = None, **settings: object
) -> tuple[Run, int]:
    """Investigate a built-in world with its own symptom; returns the run and its exit code.

    `recorded` False takes away what lies with its models and says what a drafter was trained on.
    The same investigation without a person to ask is made once: its run is to be read only.
    """
    if approver is not None:
        return _investigated(name, seed, allow, approver, settings)
    return _made_once(name, seed, allow, tuple(sorted(settings.items())))


@functools.cache
def _made_once(name: str, seed: int, allow: Risk, settings: tuple[tuple[str, object], ...]) -> tuple[Run, int]:
    return _investigated(name, seed, allow, None, dict(settings))


def _investigated(
    name: str, seed: int, allow: Risk, approver: Approver | None, settings: dict[str, object]
) -> tuple[Run, int]:
    world = World.from_yaml(name)
    if not settings.pop("recorded", True):
        world = unrecorded(world)
    run = run_of(SimulatedHost(world, seed=seed), approver=approver)
    start(run, settings_for(world, allow=allow, **settings))
    return run, investigate(run, checkpoints=None)


def settings_for(world: World, *, allow: Risk = Risk.RESTART, **more: object) -> RunSettings:
    """What the world's user types, and what their targets file says."""
    flags = list(world.ask.flags)
    given: dict[str, object] = {"symptom": world.ask.symptom, "allow": allow}
    if "--concurrency" in flags:
        given["concurrency"] = int(flags[flags.index("--concurrency") + 1])
    if "--max-restarts" in flags:
        given["max_restarts"] = int(flags[flags.index("--max-restarts") + 1])
    for flag, name in (("--recall", "recall"), ("--recalled-at", "recalled_at"), ("--prompts", "prompt_file")):
        if flag in flags:
            given[name] = flags[flags.index(flag) + 1]
    if world.ask.other_install:
        given["other_install"] = {key: world.expand(value) for key, value in world.ask.other_install.items()}
    return RunSettings.model_validate({**given, **more})
