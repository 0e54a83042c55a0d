"""A store that also keeps the transcript up to date."""

from __future__ import annotations

from collections.abc import Iterator

from specdoctor.core.errors import StoreError
from specdoctor.core.events import Event, RunStarted
from specdoctor.store.runs import SqliteStore
from specdoctor.store.transcript import TranscriptWriter, read_transcript


class MirroredStore:
    """The database is the truth, the transcript a copy of it: repaired from the database on the first write to a run.

    Both should share one Redactor.
    """

    def __init__(self, store: SqliteStore, transcript: TranscriptWriter) -> None:
        self.store = store
        self.transcript = transcript
        self._in_step: set[str] = set()
        self.lagging: str | None = None
        """Why the transcript is behind the database, None while it is not; the next write tries to repair it."""

    def append(self, run: str, event: Event) -> None:
        self.store.append(run, event)
        try:
            if run in self._in_step:
                self.transcript.append(run, event)
            else:
                self._bring_in_step(run)
        except StoreError as error:
            self._fall_behind(run, error)
        else:
            self.lagging = None

    def events(self, run: str) -> Iterator[Event]:
        return self.store.events(run)

    def runs(self) -> list[RunStarted]:
        return self.store.runs()

    def put_artefact(self, run: str, name: str, content: bytes) -> str:
        digest = self.store.put_artefact(run, name, content)
        try:
            self.transcript.put_artefact(run, name, content)
        except StoreError as error:
            self._fall_behind(run, error)
        return digest

    def artefact(self, run: str, name: str) -> bytes:
        return self.store.artefact(run, name)

    def _fall_behind(self, run: str, error: StoreError) -> None:
        """A copy that cannot be written stops nothing: the database has it all."""
        self._in_step.discard(run)
        self.lagging = error.message

    def _bring_in_step(self, run: str) -> None:
        stored = list(self.store.events(run))
        try:
            written = read_transcript(self.transcript.directory(run))
        except StoreError:
            written = []
        if written == stored[:-1]:
            self.transcript.append(run, stored[-1])
        else:
            self.transcript.replace_events(run, stored)
        for name in self.store.artefacts(run):
            self.transcript.put_artefact(run, name, self.store.artefact(run, name))
        self._in_step.add(run)
