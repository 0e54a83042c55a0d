"""Earlier runs in the store narrow what two launches of a later one show."""

from __future__ import annotations

import itertools

import pytest

from specdoctor.analysis.comparisons import comparisons
from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.core.events import RunStarted
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import MemoryStore, run_of, settings_for


class ManyRuns(MemoryStore):
    """A store that tells runs apart."""

    def __init__(self) -> None:
        super().__init__()
        self.by_run: dict[str, list[object]] = {}

    def append(self, run, event):  # type: ignore[no-untyped-def]
        self.by_run.setdefault(run, []).append(event)

    def events(self, run):  # type: ignore[no-untyped-def]
        yield from self.by_run.get(run, [])

    def runs(self) -> list[RunStarted]:
        return [e for events in self.by_run.values() for e in events if isinstance(e, RunStarted)]


@pytest.mark.slow
def test_the_spread_of_earlier_runs_takes_the_place_of_the_assumed_one() -> None:
    store, world = ManyRuns(), World.from_yaml("phantom-regression")
    host = SimulatedHost(world)
    runs: list[Run] = []
    for number in itertools.count(1):
        run = run_of(host, store=store)
        run.id = f"r{number}"
        start(run, settings_for(world))
        investigate(run, checkpoints=None)
        runs.append(run)
        if number == 3:
            break
    first, last = (next(iter(comparisons(run.ledger))) for run in (runs[0], runs[-1]))
    assert "5% between starts (assumed)" in first.power_words
    assert "in earlier runs" in last.power_words
    assert last.visible < first.visible
    assert any(e.source == "starts on record" for e in runs[-1].ledger.evidence.values())
