"""Transcripts: a run as files that can be read, diffed and judged again without the database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from specdoctor.core.errors import StoreError
from specdoctor.core.events import Event, event_from_json, event_to_json
from specdoctor.core.input_file import read_input
from specdoctor.store.redaction import Redactor
from specdoctor.store.runs import check_artefact_name, check_run_id

EVENTS = "events.jsonl"
ARTEFACTS = "artefacts"
REPORT = "report.md"
_SHOWN_FAULTS = 5
LARGEST_BYTES = 1 << 30


class TranscriptWriter:
    """Writes `root/<run>/` with events.jsonl (flushed line by line), artefacts/ and report.md, all redacted."""

    def __init__(self, root: Path, *, redactor: Redactor | None = None) -> None:
        self.root = root
        self.redactor = redactor or Redactor()
        self._open: dict[str, BinaryIO] = {}

    def directory(self, run: str) -> Path:
        """Where the run's files are."""
        check_run_id(run)
        return self.root / run

    def append(self, run: str, event: Event) -> None:
        """Add one line to events.jsonl."""
        with _explained(f"write {self.directory(run) / EVENTS}"):
            if run not in self._open:
                self._open[run] = _open_for_append(self.directory(run) / EVENTS)
            try:
                self._open[run].write(_line(self.redactor.event(event)))
                self._open[run].flush()
            except OSError:
                self._close(run)
                raise

    def replace_events(self, run: str, events: Iterable[Event]) -> None:
        """Write events.jsonl anew, so that it holds exactly `events`."""
        self._close(run)
        path = self.directory(run) / EVENTS
        with _explained(f"write {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(".new")
            with fresh.open("wb") as file:
                file.writelines(_line(self.redactor.event(e)) for e in events)
            fresh.replace(path)

    def put_artefact(self, run: str, name: str, content: bytes) -> str:
        """Write redacted content to artefacts/<name>; returns its SHA-256 in hex."""
        check_artefact_name(name)
        path = self.directory(run) / ARTEFACTS / name
        clean = self.redactor.content(content)
        with _explained(f"write {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(clean)
        return hashlib.sha256(clean).hexdigest()

    def put_report(self, run: str, text: str) -> Path:
        """Write report.md, rendered from events without secrets; returns its path.

        Text that a renderer has escaped is not told from a secret by its shape: `"\\$NAME"` stays a line to paste.
        """
        path = self.directory(run) / REPORT
        with _explained(f"write {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.redactor.without_known(text), encoding="utf-8")
        return path

    def close(self) -> None:
        for run in list(self._open):
            self._close(run)

    def _close(self, run: str) -> None:
        """Let the file go. What it could not write before it cannot write now; whoever appended was told."""
        if run in self._open:
            with suppress(OSError):
                self._open.pop(run).close()


def read_transcript(path: Path) -> list[Event]:
    """The events of a transcript directory (or of an events.jsonl file), in order.

    Raises StoreError that names each line (the first few) that is no event.
    """
    file = path / EVENTS if path.is_dir() else path
    with _explained(f"read {file}"):
        content = read_input(file, limit=LARGEST_BYTES, pipes=file is path)
    events: list[Event] = []
    faults: list[str] = []
    # Not splitlines: JSON may hold characters that Python counts as line ends.
    lines = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            events.append(event_from_json(line.decode("utf-8")))
        except UnicodeDecodeError as error:
            faults.append(f"line {number}: no UTF-8 ({error.reason} at byte {error.start})")
        except ValidationError as error:
            cut = " (the line is cut off: was the writer killed?)" if number == len(lines) else ""
            detail = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in detail["loc"])
            faults.append(f"line {number}: {where + ': ' if where else ''}{detail['msg']}{cut}")
    if faults:
        more = f"\n  and {len(faults) - _SHOWN_FAULTS} more" if len(faults) > _SHOWN_FAULTS else ""
        raise StoreError(
            f"{file}: {len(faults)} line{'s are' if len(faults) > 1 else ' is'} no event\n  "
            + "\n  ".join(faults[:_SHOWN_FAULTS])
            + more,
            tried=f"read {file}",
            next_step="correct or remove these lines, or export the run again from its database",
        )
    return events


def read_artefact(path: Path, name: str) -> bytes:
    """Content of one artefact of a transcript directory; raises StoreError when it is not there."""
    check_artefact_name(name)
    with _explained(f"read {path / ARTEFACTS / name}"):
        return read_input(path / ARTEFACTS / name, limit=LARGEST_BYTES, pipes=False)


def _line(event: Event) -> bytes:
    return event_to_json(event).encode("utf-8") + b"\n"


def _open_for_append(path: Path) -> BinaryIO:
    """The file at its end; a last line that a killed writer left unfinished is closed first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+b")
    size = file.tell()
    if size:
        file.seek(size - 1)
        if file.read(1) != b"\n":
            file.write(b"\n")
    return file


@contextmanager
def _explained(tried: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{error.filename or 'transcript'}: {error.strerror or error}",
            tried=tried,
            next_step="check the path and the rights on it",
        ) from error
