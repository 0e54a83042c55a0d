"""Runs in one SQLite file: events that can only be appended, artefacts by name with their hash."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import RLock

import platformdirs
from pydantic import ValidationError

from specdoctor.core.errors import OutputError, SpecdoctorError, StoreError, UsageError
from specdoctor.core.events import Event, RunStarted, event_from_json, event_to_json
from specdoctor.core.input_file import expanded
from specdoctor.store.lock import held, run_lock
from specdoctor.store.redaction import Redactor
from specdoctor.store.schema import open_database

PATH_VARIABLE = "SPECDOCTOR_DB"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
SQLITE_NO_ROOM = ("disk I/O error", "disk is full", "readonly database")
_PAGE = 500
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def default_path() -> Path:
    """The file named by SPECDOCTOR_DB, else `runs.db` in the user's data directory."""
    named = os.environ.get(PATH_VARIABLE)
    return expanded(named) if named else platformdirs.user_data_path("specdoctor") / "runs.db"


class SqliteStore:
    """The run database at `path`, created when it is not there; may be used from several threads.

    Text is redacted before it is written (`redactor`, `add_secrets`). Every method raises StoreError with the path
    and what to do when the file is damaged, locked by another process for longer than `busy_timeout_s`, or unwritable.
    """

    def __init__(self, path: Path, *, redactor: Redactor | None = None, busy_timeout_s: float = 30.0) -> None:
        self.path = path
        self.redactor = redactor or Redactor()
        self._guard = RLock()
        with self._explained("open"):
            self._db = open_database(path, busy_timeout_s=busy_timeout_s)

    def close(self) -> None:
        with self._guard:
            self._db.close()

    def add_secrets(self, values: Iterable[str]) -> None:
        """Values to remove from whatever is written from now on."""
        self.redactor.add(values)

    def append(self, run: str, event: Event) -> None:
        """Write one event; it is on the disk when this returns."""
        self.append_all(run, (event,))

    def append_all(self, run: str, events: Iterable[Event]) -> None:
        """Write several events, all or none."""
        check_run_id(run)
        rows = [
            {"run": run, "at": e.at, "kind": e.kind, "body": event_to_json(e)}
            for e in (self.redactor.event(e) for e in events)
        ]
        with self._explained(f"write to run {run}"), self._guard, self._db.atomic():
            for row in rows:
                self._db.execute(
                    "INSERT INTO events (run, seq, at, kind, body) SELECT :run, COALESCE(MAX(seq), 0) + 1, :at, :kind,"
                    " :body FROM events WHERE run = :run",
                    row,
                )

    def events(self, run: str, *, kinds: Collection[str] | None = None) -> Iterator[Event]:
        """The run's events in order (those of some `kinds` only, if given); none for a run that does not exist.

        What is written after the first event was taken is left out.
        """
        after, last = 0, self.count(run)
        while rows := self._page(run, after, last, kinds):
            for seq, body in rows:
                if kinds is None and seq != after + 1:
                    raise self._damaged(f"event {after + 1} of run {run} is missing")
                try:
                    event = event_from_json(body)
                except ValidationError as error:
                    raise self._damaged(f"event {seq} of run {run} cannot be read: {_first(error)}") from error
                after = seq
                yield event

    def _page(self, run: str, after: int, last: int, kinds: Collection[str] | None) -> list[tuple[int, str]]:
        where = "run = ? AND seq > ? AND seq <= ?"
        parameters: list[object] = [run, after, last]
        if kinds is not None:
            where += f" AND kind IN ({', '.join('?' * len(kinds))})"
            parameters += kinds
        with self._explained(f"read run {run}"), self._guard:
            rows = self._db.execute(
                f"SELECT seq, body FROM events WHERE {where} ORDER BY seq LIMIT {_PAGE}", parameters
            ).fetchall()
        return [(int(seq), str(body)) for seq, body in rows]

    def count(self, run: str) -> int:
        """How many events the run has."""
        with self._explained(f"read run {run}"), self._guard:
            (found,) = self._db.execute("SELECT COALESCE(MAX(seq), 0) FROM events WHERE run = ?", [run]).fetchone()
        return int(found)

    def runs(self) -> list[RunStarted]:
        """The first event of every run that this version can read, the oldest run first; `names` has the others too."""
        with self._explained("list the runs"), self._guard:
            rows = self._db.execute("SELECT body FROM events WHERE seq = 1 ORDER BY at, run").fetchall()
        out: list[RunStarted] = []
        for (body,) in rows:
            try:
                event = event_from_json(body)
            except ValidationError:
                continue
            if isinstance(event, RunStarted):
                out.append(event)
        return out

    def names(self) -> list[str]:
        """The ids of all runs, the oldest first, whether or not this version can read them."""
        with self._explained("list the runs"), self._guard:
            rows = self._db.execute("SELECT run FROM events WHERE seq = 1 ORDER BY at, run").fetchall()
        return [str(row[0]) for row in rows]

    def find(self, prefix: str) -> str:
        """The run whose id is `prefix` or is the only one to start with it; raises UsageError otherwise."""
        names = self.names()
        found = [n for n in names if n.startswith(prefix)]
        if prefix in names:
            return prefix
        if len(found) == 1:
            return found[0]
        listed = found or names
        shown = ", ".join(listed[-12:]) + (f" and {len(listed) - 12} older ones" if len(listed) > 12 else "")
        raise UsageError(
            f"{len(found) or 'no'} run{'s' if len(found) != 1 else ''} start with {prefix!r}",
            tried=f"look among the {len(names)} runs in {self.path}",
            next_step=f"name one of: {shown}" if listed else "start one first: this file holds no run yet",
        )

    def free_run_id(self) -> str:
        """A short id that no run here has, nor starts with."""
        taken = self.names()
        size = 2
        while True:
            run = secrets.token_hex(size)
            if not any(t.startswith(run) or run.startswith(t) for t in taken):
                return run
            size += 1

    def put_artefact(self, run: str, name: str, content: bytes) -> str:
        """Store redacted content; returns its SHA-256 in hex.

        A name whose content an event of the run cites cannot get another content. One that no event cites yet can: a
        run that was killed between the two writes the content again when it is resumed.
        """
        check_run_id(run)
        check_artefact_name(name)
        clean = self.redactor.content(content)
        digest = hashlib.sha256(clean).hexdigest()
        row = {"run": run, "name": name, "sha256": digest, "content": zlib.compress(clean, 6)}
        cited = self._cited(run, name)
        if cited is not None and cited != digest:
            raise StoreError(
                f"artefact {name} of run {run} is cited as evidence with other content",
                tried=f"write it in {self.path}",
                next_step="what was written once stays; record the new content under a name of its own",
            )
        with self._explained(f"write artefact {name} of run {run}"), self._guard:
            self._db.execute(
                "INSERT INTO artefacts (run, name, sha256, content) SELECT :run, :name, :sha256, :content WHERE NOT"
                " EXISTS (SELECT 1 FROM artefacts WHERE run = :run AND name = :name AND sha256 = :sha256)",
                row,
            )
        return digest

    def artefact(self, run: str, name: str) -> bytes:
        """The stored (redacted) content that the run's evidence cites, else the last one; checked against its hash."""
        with self._explained(f"read artefact {name} of run {run}"), self._guard:
            row = self._db.execute(
                "SELECT sha256, content FROM artefacts WHERE run = ? AND name = ? ORDER BY sha256 = ? DESC, rowid DESC",
                [run, name, self._cited(run, name) or ""],
            ).fetchone()
        if row is None:
            names = ", ".join(self.artefacts(run)) or "none"
            raise StoreError(f"run {run} has no artefact {name}", tried=str(self.path), next_step=f"it has: {names}")
        try:
            content = zlib.decompress(row[1])
        except zlib.error as error:
            raise self._damaged(f"artefact {name} of run {run} cannot be unpacked: {error}") from error
        if hashlib.sha256(content).hexdigest() != row[0]:
            raise self._damaged(f"artefact {name} of run {run} differs from its hash")
        return content

    def _cited(self, run: str, name: str) -> str | None:
        """The hash by which an event of the run cites the artefact."""
        with self._explained(f"read run {run}"), self._guard:
            row = self._db.execute(
                "SELECT json_extract(body, '$.sha256') FROM events WHERE run = ? AND kind = 'evidence.recorded'"
                " AND json_extract(body, '$.artefact') = ?",
                [run, name],
            ).fetchone()
        return None if row is None or row[0] is None else str(row[0])

    def artefacts(self, run: str) -> dict[str, str]:
        """Names of the run's artefacts, each with the SHA-256 of what `artefact` returns."""
        with self._explained(f"read run {run}"), self._guard:
            rows = self._db.execute(
                "SELECT name, sha256 FROM artefacts WHERE run = ? ORDER BY name, rowid", [run]
            ).fetchall()
        return {str(name): self._cited(run, str(name)) or str(digest) for name, digest in rows}

    def lock(self, run: str) -> AbstractContextManager[None]:
        """Hold this while driving `run`; raises StoreError while another process drives it."""
        check_run_id(run)
        return run_lock(self._lock_of(run), run=run)

    def driven(self, run: str) -> bool:
        """Whether a process of this machine drives `run` now."""
        check_run_id(run)
        return held(self._lock_of(run))

    def _lock_of(self, run: str) -> Path:
        return self.path.with_name(self.path.name + ".locks") / f"{run}.lock"

    def _damaged(self, what: str) -> StoreError:
        return StoreError(
            what,
            tried=f"read {self.path}",
            next_step=f"keep it for inspection: mv {self.path} {self.path}.damaged; "
            "or read it with the version of specdoctor that wrote it",
        )

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        """Database and file errors as StoreErrors that say what to do."""
        tried = f"{doing} in {self.path}"
        try:
            yield
        except sqlite3.Error as error:
            raise _explain(error, self.path, tried) from error
        except OSError as error:
            kind = OutputError if error.errno in NO_ROOM else StoreError
            raise kind(
                f"{self.path}: {error.strerror or error}",
                tried=tried,
                next_step=f"check the directory, or name another file with {PATH_VARIABLE}=FILE",
            ) from error


def check_run_id(run: str) -> None:
    """A run id names files too, so it must be a plain word; raises StoreError."""
    if not _RUN_ID.fullmatch(run):
        raise StoreError(f"{run!r} is no run id", next_step="use letters, digits, '.', '_' and '-'")


def check_artefact_name(name: str) -> None:
    """An artefact's name is a relative path of plain words (`E3/server.log`); raises StoreError."""
    if not all(_RUN_ID.fullmatch(part) for part in name.split("/")):
        raise StoreError(f"{name!r} is no artefact name", next_step="use plain words joined with '/'")


def _first(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in detail['loc'])}: {detail['msg']}"


def _explain(error: sqlite3.Error, path: Path, tried: str) -> SpecdoctorError:
    text = str(error)
    if "locked" in text or "busy" in text:
        step = f"another process is writing; see who:  fuser -v {path}"
    elif isinstance(error, sqlite3.IntegrityError):
        step = "what was written once stays; this is a fault of specdoctor, please report it"
    elif "not a database" in text or "malformed" in text:
        step = f"keep it for inspection: mv {path} {path}.damaged; the next run starts a new one"
    else:
        step = f"check the disk and the rights on the directory, or name another file with {PATH_VARIABLE}=FILE"
    kind = OutputError if any(words in text for words in SQLITE_NO_ROOM) else StoreError
    return kind(f"{path}: {text}", tried=tried, next_step=step)
