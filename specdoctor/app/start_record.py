"""What earlier runs in the store tell of this server's starts: how far equal ones lie apart."""

from __future__ import annotations

from collections.abc import Iterator

from specdoctor.analysis.launch_spread import RECORD, starts_on_record
from specdoctor.app.fingerprint import fingerprint
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.errors import StoreError
from specdoctor.core.measurement import Measurement
from specdoctor.core.server import SpecSetting

MOST_RUNS = 100
"""Newest runs that are looked through."""


def note_record(run: Run, action: str) -> str | None:
    """Record what earlier runs measured of equal starts of this server; returns the evidence id, None without any."""
    assert run.scene is not None
    view = run.scene.view
    state = fingerprint(run.scene, server=view.ref, spec=view.spec or SpecSetting(), launch_key="original", workload={})
    found = starts_on_record(_earlier(run, state.get("host.name", "")), state=state)
    if found is None:
        return None
    words = f"{found.starts} starts of {found.launches} launches of this server in {found.runs} earlier runs"
    return run.record(action=action, source=RECORD, summary=words, data=found.model_dump(mode="json"))


def _earlier(run: Run, host: str) -> Iterator[tuple[str, list[Measurement]]]:
    """Runs with their measurements, as far as any is of a host of this name."""
    if not host:
        return
    others = [r.run for r in run.store.runs() if r.run != run.id]
    for name in others[-MOST_RUNS:]:
        try:
            measured = [e.measurement for e in run.store.events(name) if isinstance(e, ev.Measured)]
        except StoreError:  # of another version, or damaged: one record less
            continue
        if any(m.fingerprint.get("host.name") == host for m in measured):
            yield name, measured
