"""Lines that specdoctor's own benchmarks brought into a server's log, as far as this store has them on record.

A benchmark's record holds what the log got meanwhile, so its lines are told by their own stamps, whatever zone those
are in. What is not on record here (`bench`, another person's store) cannot be told from the requests of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.errors import SpecdoctorError
from specdoctor.core.measurement import BenchRecord
from specdoctor.core.ports import Store
from specdoctor.core.server import DecodeWindow

_BEFORE_S = 36 * 3600.0
"""Runs that began longer before a log's first line are not looked at: no time zone and no run is that far apart."""
ANY_CLIENT = "requests of any client, earlier benchmarks included"


def without_own(run: Run, windows: Sequence[DecodeWindow]) -> tuple[tuple[DecodeWindow, ...], str]:
    """The lines that no benchmark on record covers, and whose requests they show."""
    spans = _spans(run, windows)
    kept = tuple(w for w in windows if w.at is None or not any(first <= w.at <= last for first, last in spans))
    left_out = len(windows) - len(kept)
    if not left_out:
        return kept, ANY_CLIENT
    lines = f"{left_out} lines" if left_out > 1 else "one line"
    return kept, f"requests of any client, {lines} left out that specdoctor's own benchmarks brought"


def _spans(run: Run, windows: Sequence[DecodeWindow]) -> list[tuple[float, float]]:
    """From when to when each benchmark on record wrote into this very log, by the log's own stamps.

    What is recorded of the log begins after the warm-up, and ends before a benchmark command of the user's own: the
    time that the whole action took, counted from the last recorded line, holds both.
    """
    stamps = [w.at for w in windows if w.at is not None]
    if not stamps or run.engine is None:
        return []
    here, argv = {_key(w) for w in windows}, run.scene.view.argv if run.scene is not None else ()
    found = []
    for record, took_s in _on_record(run, min(stamps) - _BEFORE_S):
        own = run.engine.read_log(record.log, where="log during a benchmark", argv=argv).decode
        at = [w.at for w in own if w.at is not None]
        if at and any(_key(w) in here for w in own):
            after_s = took_s if record.own_output is not None else 0.0
            found.append((min(*at, max(at) - took_s), max(at) + after_s))
    return found


def _key(window: DecodeWindow) -> tuple[object, ...]:
    return (window.at, window.rank, window.running, window.tokens, window.throughput_tok_s)


def _on_record(run: Run, since: float) -> Iterator[tuple[BenchRecord, float]]:
    """Each benchmark on record of this target, and the seconds that its action took."""
    for first in run.store.runs():
        if first.target != run.operations.target or first.at < since:
            continue
        try:
            yield from _benches(run.store, first.run)
        except (SpecdoctorError, ValidationError):  # of another version, or damaged: it tells nothing
            continue


def _benches(store: Store, of: str) -> list[tuple[BenchRecord, float]]:
    kept: list[tuple[str, str]] = []
    took: dict[str, float] = {}
    for event in store.events(of):
        if isinstance(event, ev.EvidenceRecorded) and event.source == "bench" and event.artefact is not None:
            kept.append((event.action or "", event.artefact))
        elif isinstance(event, ev.ActionEnded):
            took[event.action] = event.duration_s
    return [(BenchRecord.model_validate_json(store.artefact(of, name)), took.get(action, 0.0)) for action, name in kept]
