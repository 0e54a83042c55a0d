"""Searches for the best setting that are in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specdoctor.assembly.catalogue import all_engines, engines_named

if TYPE_CHECKING:
    from specdoctor.app.tune_outcome import TuneOutcome
    from specdoctor.core.operations import Operations
    from specdoctor.core.run_settings import RunSettings
    from specdoctor.store.mirrored import MirroredStore


def tune_outcome(store: MirroredStore, run: str) -> TuneOutcome:
    """What a stored search for the best setting came to."""
    from specdoctor.app.tune_outcome import outcome_of

    return outcome_of(store, run, engines=all_engines())


def earlier_tune(store: MirroredStore, operations: Operations, settings: RunSettings) -> TuneOutcome | None:
    """The outcome of an earlier search on this target in the same state of the system; one read of the host.

    None also where the host shows no server: the search itself says so.
    """
    from specdoctor.app.scene import scene_of as chosen
    from specdoctor.app.tune_outcome import earlier_outcome
    from specdoctor.core.errors import TargetError
    from specdoctor.core.operations import SnapshotRequest

    if not any(r.target == operations.target and r.settings.planner == "tune" for r in store.runs()):
        return None
    ports = (settings.port,) if settings.port else ()
    request = SnapshotRequest(ports=ports, logs=settings.extra_logs, files=settings.extra_files)
    engines = engines_named(settings.engine)
    try:
        scene = chosen(operations.snapshot(request), engines=engines, target=operations.target, port=settings.port)
    except TargetError:
        return None
    return earlier_outcome(store, scene, settings, target=operations.target, engines=engines)
