"""The run database with its transcripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specdoctor.core.events import RunStarted
    from specdoctor.store.mirrored import MirroredStore


TRANSCRIPTS = "transcripts"
CHECKPOINTS = "checkpoints.db"


def open_store(*, database: Path | None = None, transcripts: Path | None = None) -> MirroredStore:
    """The run database (the user's own unless named) with its transcripts (`transcripts/` here unless named)."""
    from specdoctor.store.mirrored import MirroredStore
    from specdoctor.store.redaction import Redactor
    from specdoctor.store.runs import SqliteStore, default_path
    from specdoctor.store.transcript import TranscriptWriter

    redactor = Redactor()
    return MirroredStore(
        SqliteStore(database or default_path(), redactor=redactor),
        TranscriptWriter(transcripts or Path(TRANSCRIPTS), redactor=redactor),
    )


def close_store(store: MirroredStore) -> None:
    """Flush and close both halves."""
    store.transcript.close()
    store.store.close()


def checkpoints_of(store: MirroredStore) -> Path:
    """Where the graph keeps its checkpoints: beside the run database."""
    return store.store.path.with_name(CHECKPOINTS)


def stored_start(store: MirroredStore, run_id: str) -> RunStarted:
    """The first event of a stored run, by its whole id. Raises StoreError where it cannot be read."""
    from specdoctor.core import events as ev

    return next(started for started in store.events(run_id) if isinstance(started, ev.RunStarted))
