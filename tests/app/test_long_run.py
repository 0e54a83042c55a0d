"""A run of ten thousand events is taken up again in less than a second."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from specdoctor.app.investigation import resume
from specdoctor.assembly.stores import open_store
from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.store.mirrored import MirroredStore
from tests.app.investigating import run_of

EVENTS = 10_000
LIMIT_S = 1.0


def long_story() -> list[ev.Event]:
    """Of every fourth part: evidence, its judgement, notes, priors."""
    begun = ev.RunStarted(run="r-test", target="t", settings=RunSettings(symptom="slow"), tool_version="1")
    claim = Hypothesis(id="H1", key="k", cause=None, claim="it is slow", answers="exists", prediction=None)
    story: list[ev.Event] = [begun, ev.HypothesisOpened(hypothesis=claim)]
    for n in range((EVENTS - 2) // 4):
        words = f"what was read the {n}th time " * 4
        story += [
            ev.EvidenceRecorded(evidence=f"E{n + 1}", action=None, source="check x", summary=words),
            ev.NoteAdded(text=words, by="ann"),
            pe.PriorSet(hypothesis="H1", prior=(n % 10) / 10, by="ann"),
            pe.PauseSet(paused=bool(n % 2), by="ann"),
        ]
    return [*story, *[ev.NoteAdded(text="one more", by="ann")] * (EVENTS - len(story))]


@pytest.mark.slow
def test_ten_thousand_events_load_and_resume_in_a_second(tmp_path: Path) -> None:
    story = long_story()
    assert len(story) == EVENTS
    place, transcripts = tmp_path / "runs.db", tmp_path / "transcripts"
    store = open_store(database=place, transcripts=transcripts)
    for event in story:
        store.append("r-test", event)
    took: list[float] = []
    for again in range(3):  # the best of three, for machines that are busy
        fresh: MirroredStore = open_store(database=place, transcripts=transcripts)
        run = run_of(SimulatedHost(World.from_yaml("healthy")))
        run.store = fresh
        began = time.perf_counter()
        resume(run)
        took.append(time.perf_counter() - began)
        assert run.ledger.count == EVENTS + again + 1
        assert len(run.ledger.notes) >= EVENTS // 4
        fresh.transcript.close()
        fresh.store.close()
    assert min(took) < LIMIT_S, took
