from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from specdoctor.core import events as ev
from specdoctor.core.errors import StoreError, UsageError
from specdoctor.core.ports import Store
from specdoctor.core.run_settings import RunSettings
from specdoctor.store.runs import SqliteStore, default_path
from tests.render.story import story


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    opened.close()


def started(run: str, at: float = 0.0) -> ev.RunStarted:
    return ev.RunStarted(at=at, run=run, target="eagle-a", settings=RunSettings(), tool_version="0.1.0")


def test_events_come_back_in_order_from_another_connection(store: SqliteStore, path: Path) -> None:
    port: Store = store
    for event in story():
        port.append("7f3c", event)
    again = SqliteStore(path)
    assert list(again.events("7f3c")) == story()
    assert again.count("7f3c") == len(story())
    assert list(again.events("none")) == []
    again.close()


@pytest.mark.alone
def test_ten_thousand_events_load_within_a_second(store: SqliteStore) -> None:
    store.append("7f3c", started("7f3c"))
    store.append_all("7f3c", (ev.NoteAdded(text=f"note {i} " * 20, by="planner") for i in range(9_999)))
    begun = time.process_time()
    assert sum(1 for _ in store.events("7f3c")) == 10_000
    assert time.process_time() - begun < 1.0


def test_events_can_be_read_while_more_are_written(store: SqliteStore) -> None:
    store.append_all("7f3c", story()[:5])
    reading = store.events("7f3c")
    next(reading)
    store.append("7f3c", story()[5])
    assert list(reading) == story()[1:5]


def test_some_kinds_alone_can_be_read(store: SqliteStore) -> None:
    store.append_all("7f3c", story())
    kinds = [e.kind for e in store.events("7f3c", kinds=("run.started", "run.ended"))]
    assert kinds == ["run.started", "run.ended"]


def test_several_events_are_written_all_or_none(store: SqliteStore) -> None:
    def broken() -> Iterator[ev.Event]:
        yield started("7f3c")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.append_all("7f3c", broken())
    assert store.count("7f3c") == 0


def test_threads_and_processes_can_append_to_the_same_run(store: SqliteStore, path: Path) -> None:
    other = SqliteStore(path)

    def write(to: SqliteStore) -> None:
        for number in range(20):
            to.append("7f3c", ev.NoteAdded(text=f"{number}", by="x"))

    threads = [Thread(target=write, args=(s,)) for s in (store, store, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(store.events("7f3c"))) == 60
    other.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = 'x'",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events VALUES ('7f3c', 1, 0.0, 'x', 'y')",
        "INSERT INTO events VALUES ('7f3c', 9, 0.0, 'x', 'y')",
        "UPDATE artefacts SET content = x'00'",
        "DELETE FROM artefacts",
        "INSERT OR REPLACE INTO artefacts SELECT run, name, sha256, x'00' FROM artefacts",
    ],
)
def test_history_cannot_be_changed_from_outside(store: SqliteStore, path: Path, statement: str) -> None:
    store.append_all("7f3c", story()[:3])
    store.put_artefact("7f3c", "a", b"content")
    outside = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError):
        outside.execute(statement)
    outside.close()
    assert list(store.events("7f3c")) == story()[:3]


def test_runs_are_listed_with_the_oldest_first(store: SqliteStore) -> None:
    for run, at in (("bbbb", 2.0), ("aaaa", 1.0), ("cccc", 3.0)):
        store.append(run, started(run, at))
    assert [r.run for r in store.runs()] == ["aaaa", "bbbb", "cccc"]


def test_a_run_is_found_by_a_prefix_that_only_it_has(store: SqliteStore) -> None:
    for run in ("7f3c", "7f9a", "81aa", "81aa2"):
        store.append(run, started(run))
    assert store.find("7f3") == "7f3c"
    assert store.find("81aa") == "81aa"
    with pytest.raises(UsageError, match="2 runs start with '7f'") as ambiguous:
        store.find("7f")
    assert ambiguous.value.next_step == "name one of: 7f3c, 7f9a"
    with pytest.raises(UsageError, match="no runs start with 'x'") as unknown:
        store.find("x")
    assert "81aa2" in unknown.value.next_step


def test_in_an_empty_store_nothing_is_found(store: SqliteStore) -> None:
    with pytest.raises(UsageError) as raised:
        store.find("7f")
    assert "holds no run yet" in raised.value.next_step


def test_a_free_run_id_is_free(store: SqliteStore) -> None:
    ids = set()
    for _ in range(20):
        run = store.free_run_id()
        store.append(run, started(run))
        ids.add(run)
    assert len(ids) == 20
    assert all(store.find(run) == run for run in ids)


def test_artefacts_are_kept_redacted_with_the_hash_of_what_is_kept(store: SqliteStore) -> None:
    store.add_secrets(["s3cret-value"])
    digest = store.put_artefact("7f3c", "E1/server.log", b"key s3cret-value\n" * 1000)
    content = store.artefact("7f3c", "E1/server.log")
    assert content == b"key ***\n" * 1000
    assert store.artefacts("7f3c") == {"E1/server.log": digest}
    assert store.put_artefact("7f3c", "E1/server.log", b"key s3cret-value\n" * 1000) == digest
    with pytest.raises(StoreError) as raised:
        store.artefact("7f3c", "E2")
    assert "E1/server.log" in raised.value.next_step


def test_content_that_an_event_cites_stays_and_content_that_none_cites_may_change(store: SqliteStore) -> None:
    store.append("7f3c", started("7f3c"))
    store.put_artefact("7f3c", "E1-facts.json", b"written before a kill")
    digest = store.put_artefact("7f3c", "E1-facts.json", b"written after the resume")
    assert store.artefact("7f3c", "E1-facts.json") == b"written after the resume"
    store.append(
        "7f3c",
        ev.EvidenceRecorded(
            evidence="E1", action=None, source="snapshot", summary="x", artefact="E1-facts.json", sha256=digest
        ),
    )
    with pytest.raises(StoreError, match="cited as evidence with other content"):
        store.put_artefact("7f3c", "E1-facts.json", b"written before a kill")
    assert store.put_artefact("7f3c", "E1-facts.json", b"written after the resume") == digest
    assert store.artefact("7f3c", "E1-facts.json") == b"written after the resume"
    assert store.artefacts("7f3c") == {"E1-facts.json": digest}


def test_no_secret_reaches_the_file(store: SqliteStore, path: Path) -> None:
    store.add_secrets(["s3cret-value"])
    store.append("7f3c", ev.NoteAdded(text="typed s3cret-value and --api-key abcdefgh", by="user"))
    store.put_artefact("7f3c", "E1", b"s3cret-value")
    store.close()
    stored = b"".join(p.read_bytes() for p in path.parent.iterdir() if p.is_file())
    assert b"s3cret-value" not in stored
    assert b"abcdefgh" not in stored


@pytest.mark.parametrize("name", ["", "../x", "/etc/passwd", "a//b", "a b", "-x", ".hidden", "a/..", "\n"])
def test_names_that_could_lead_elsewhere_are_refused(store: SqliteStore, name: str) -> None:
    with pytest.raises(StoreError, match="artefact name"):
        store.put_artefact("7f3c", name, b"")
    with pytest.raises(StoreError, match="run id"):
        store.append(name, started("x"))


def test_the_file_is_readable_by_its_owner_only(store: SqliteStore, path: Path) -> None:
    store.append("7f3c", started("7f3c"))
    assert all(p.stat().st_mode & 0o077 == 0 for p in path.parent.iterdir())


def test_the_default_path_and_the_variable_over_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_path().name == "runs.db"
    assert home in default_path().parents
    monkeypatch.setenv("SPECDOCTOR_DB", "~/elsewhere.db")
    assert default_path() == home / "elsewhere.db"


def test_a_file_that_is_no_database_is_an_error_with_a_way_on(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is text, not a database\n" * 100)
    with pytest.raises(StoreError, match="not a database") as raised:
        SqliteStore(path)
    assert str(path) in raised.value.message
    assert f"mv {path}" in raised.value.next_step


def test_a_damaged_page_is_an_error_with_a_way_on(path: Path) -> None:
    store = SqliteStore(path)
    store.append_all("7f3c", [started("7f3c"), *(ev.NoteAdded(text="x" * 500, by="x") for _ in range(200))])
    store.close()
    content = bytearray(path.read_bytes())
    content[8192 : len(content) - 4096] = b"\xee" * (len(content) - 12288)
    path.write_bytes(content)
    with pytest.raises(StoreError) as raised:
        list(SqliteStore(path).events("7f3c"))
    assert str(path) in raised.value.message + raised.value.tried
    assert "mv " in raised.value.next_step


def test_an_event_of_another_version_is_named(store: SqliteStore, path: Path) -> None:
    outside = sqlite3.connect(path)
    outside.execute("INSERT INTO events VALUES ('7f3c', 1, 0.0, 'new.kind', '{\"kind\": \"new.kind\"}')")
    outside.commit()
    outside.close()
    with pytest.raises(StoreError, match="event 1 of run 7f3c cannot be read"):
        list(store.events("7f3c"))
    store.append("8a01", started("8a01", at=1.0))
    assert [r.run for r in store.runs()] == ["8a01"]
    assert store.names() == ["7f3c", "8a01"]
    assert store.find("7f") == "7f3c"
    assert store.free_run_id() not in store.names()


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE notes (x)")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path)


def test_a_newer_schema_is_refused(path: Path) -> None:
    SqliteStore(path).close()
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(StoreError, match="schema 99"):
        SqliteStore(path)


def test_a_database_that_another_process_has_locked_is_an_error_with_a_way_on(path: Path) -> None:
    store = SqliteStore(path, busy_timeout_s=0.05)
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked") as raised:
        store.append("7f3c", started("7f3c"))
    assert str(path) in raised.value.next_step
    other.rollback()
    other.close()
    store.append("7f3c", started("7f3c"))
    store.close()


def test_a_place_that_cannot_be_written_is_an_error_with_a_way_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as raised:
        SqliteStore(tmp_path / "file" / "runs.db")
    assert "SPECDOCTOR_DB" in raised.value.next_step
