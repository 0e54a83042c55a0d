"""Tables of the run database, and the triggers that keep history as it was."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from specdoctor.core.errors import StoreError

if TYPE_CHECKING:
    from sqlite_utils import Database

SCHEMA_VERSION = 1
APPLICATION_ID = 0x73706472
"""Marks the file as a run database ("spdr"), so that a foreign file is never written to."""

_LAST = "(SELECT COALESCE(MAX(seq), 0) FROM events WHERE run = NEW.run)"
_SAME = "(SELECT 1 FROM artefacts WHERE run = NEW.run AND name = NEW.name AND sha256 = NEW.sha256)"
_REFUSALS = (
    ("UPDATE ON events", "1", "events are never edited"),
    ("DELETE ON events", "1", "events are never deleted"),
    ("INSERT ON events", f"NEW.seq <> {_LAST} + 1", "an event must follow the last one"),
    ("UPDATE ON artefacts", "1", "artefacts are never edited"),
    ("DELETE ON artefacts", "1", "artefacts are never deleted"),
    ("INSERT ON artefacts", f"EXISTS {_SAME}", "artefacts are never replaced"),
)


def open_database(path: Path, *, busy_timeout_s: float) -> Database:
    """Connect, creating the file (readable by its owner only) and its tables where they are missing.

    Raises StoreError for a foreign or newer file, sqlite3.Error or OSError for one that cannot be used.
    """
    from sqlite_utils import Database

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(str(path), timeout=busy_timeout_s, check_same_thread=False)
    try:
        db = Database(connection, execute_plugins=False)
        db.enable_wal()
        # FULL: an action's start must outlive a power cut, or a resumed run would not know what may have happened.
        db.execute("PRAGMA synchronous = FULL")
        _prepare(db, path)
    except BaseException:
        connection.close()
        raise
    return db


def _pragma(db: Database, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def _prepare(db: Database, path: Path) -> None:
    version, application = _pragma(db, "user_version"), _pragma(db, "application_id")
    if version == 0 and application == 0 and not db.table_names():
        _create(db)
        version, application = _pragma(db, "user_version"), _pragma(db, "application_id")
    if application != APPLICATION_ID:
        raise StoreError(
            f"{path} is a database of another program",
            tried="open the run database",
            next_step="name another file with SPECDOCTOR_DB=FILE",
        )
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema {version}; this version of specdoctor reads schema {SCHEMA_VERSION}",
            tried="open the run database",
            next_step="use the version that wrote it, or name another file with SPECDOCTOR_DB=FILE",
        )


def _create(db: Database) -> None:
    with db.atomic():
        # The first statement takes the write lock; another process may have created the tables meanwhile.
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        if _pragma(db, "user_version"):
            return
        db.table("events").create(
            {"run": str, "seq": int, "at": float, "kind": str, "body": str},
            pk=("run", "seq"),
            not_null=("at", "kind", "body"),
            strict=True,
        )
        db.table("artefacts").create(
            {"run": str, "name": str, "sha256": str, "content": bytes},
            pk=("run", "name", "sha256"),
            not_null=("content",),
            strict=True,
        )
        for on, when, why in _REFUSALS:
            name = on.replace(" ON ", "_").lower()
            db.execute(f"CREATE TRIGGER {name} BEFORE {on} WHEN {when} BEGIN SELECT RAISE(ABORT, '{why}'); END")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
