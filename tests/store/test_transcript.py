from __future__ import annotations

import errno
import hashlib
import json
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdoctor.core import events as ev
from specdoctor.core.errors import StoreError
from specdoctor.core.events import Event, event_to_json
from specdoctor.store.mirrored import MirroredStore
from specdoctor.store.redaction import Redactor
from specdoctor.store.runs import SqliteStore
from specdoctor.store.transcript import TranscriptWriter, read_artefact, read_transcript
from tests.render.story import story
from tests.render.strategies import events as any_events


def test_a_transcript_comes_back(tmp_path: Path) -> None:
    writer = TranscriptWriter(tmp_path)
    for number, event in enumerate(story(), start=1):
        writer.append("7f3c", event)
        assert (tmp_path / "7f3c" / "events.jsonl").read_bytes().count(b"\n") == number
    digest = writer.put_artefact("7f3c", "E1/server.log", b"line\n")
    report = writer.put_report("7f3c", "# report\n")
    writer.close()
    assert read_transcript(tmp_path / "7f3c") == story()
    assert read_transcript(tmp_path / "7f3c" / "events.jsonl") == story()
    assert read_artefact(tmp_path / "7f3c", "E1/server.log") == b"line\n"
    assert digest == hashlib.sha256(b"line\n").hexdigest()
    assert report.read_text() == "# report\n"


def test_everything_in_a_transcript_is_redacted(tmp_path: Path) -> None:
    writer = TranscriptWriter(tmp_path, redactor=Redactor(["s3cret-value"]))
    writer.append("7f3c", ev.NoteAdded(text="s3cret-value", by="user"))
    writer.put_artefact("7f3c", "E1", b"s3cret-value")
    writer.put_report("7f3c", "s3cret-value")
    writer.close()
    files = [p for p in (tmp_path / "7f3c").rglob("*") if p.is_file()]
    assert len(files) == 3
    assert not any("s3cret-value" in p.read_text() for p in files)


@settings(max_examples=30)
@given(st.lists(any_events, max_size=4))
def test_any_events_come_back(tmp_path_factory: pytest.TempPathFactory, events: list[Event]) -> None:
    root = tmp_path_factory.mktemp("transcripts")
    writer = TranscriptWriter(root)
    writer.replace_events("7f3c", events)
    writer.close()
    assert read_transcript(root / "7f3c") == [writer.redactor.event(e) for e in events]


def test_every_faulty_line_is_named(tmp_path: Path) -> None:
    good = event_to_json(story()[0])
    lines = [good, "not json", json.dumps({"kind": "new.kind"}), "", json.dumps({"kind": "run.ended", "exit_code": 0})]
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n\xff".encode().decode() + good[:40])
    with pytest.raises(StoreError) as raised:
        read_transcript(tmp_path)
    message = raised.value.message
    assert "4 lines are no event" in message
    assert "line 2: Invalid JSON" in message
    assert "line 3: " in message
    assert "new.kind" in message
    assert "line 5: run.ended.reason: Field required" in message
    assert "line 6: Invalid JSON" in message
    assert "was the writer killed?" in message


def test_a_line_that_is_no_text_and_a_missing_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b"\xff\xfe\n" * 7)
    with pytest.raises(StoreError, match="line 1: no UTF-8") as raised:
        read_transcript(tmp_path)
    assert "and 2 more" in raised.value.message
    with pytest.raises(StoreError, match=r"events\.jsonl: No such file"):
        read_transcript(tmp_path / "none" / "events.jsonl")
    with pytest.raises(StoreError, match="No such file"):
        read_artefact(tmp_path, "E1")
    with pytest.raises(StoreError, match="artefact name"):
        read_artefact(tmp_path, "../events.jsonl")


def test_a_line_cut_off_by_a_kill_does_not_swallow_the_next(tmp_path: Path) -> None:
    path = tmp_path / "7f3c" / "events.jsonl"
    path.parent.mkdir()
    path.write_text(event_to_json(story()[0]) + "\n" + '{"kind": "no')
    writer = TranscriptWriter(tmp_path)
    writer.append("7f3c", story()[1])
    writer.close()
    with pytest.raises(StoreError, match="line 2: ") as raised:
        read_transcript(path)
    assert "1 line is no event" in raised.value.message


@pytest.fixture
def mirrored(tmp_path: Path) -> MirroredStore:
    redactor = Redactor()
    store = SqliteStore(tmp_path / "runs.db", redactor=redactor)
    return MirroredStore(store, TranscriptWriter(tmp_path / "transcripts", redactor=redactor))


def test_the_mirror_writes_both(mirrored: MirroredStore) -> None:
    for event in story():
        mirrored.append("7f3c", event)
    digest = mirrored.put_artefact("7f3c", "E1", b"x")
    directory = mirrored.transcript.directory("7f3c")
    assert list(mirrored.events("7f3c")) == read_transcript(directory) == story()
    assert mirrored.artefact("7f3c", "E1") == read_artefact(directory, "E1") == b"x"
    assert digest == hashlib.sha256(b"x").hexdigest()
    assert [r.run for r in mirrored.runs()] == ["7f3c"]


@pytest.mark.parametrize("left", [b"", b'{"kind": "no', None], ids=["empty", "cut off", "missing"])
def test_a_transcript_that_lags_behind_is_repaired_from_the_database(
    mirrored: MirroredStore, left: bytes | None
) -> None:
    mirrored.store.append_all("7f3c", story()[:5])
    mirrored.store.put_artefact("7f3c", "E1", b"x")
    directory = mirrored.transcript.directory("7f3c")
    if left is not None:
        directory.mkdir(parents=True)
        (directory / "events.jsonl").write_bytes(event_to_json(story()[0]).encode() + b"\n" + left)
    mirrored.append("7f3c", story()[5])
    mirrored.append("7f3c", story()[6])
    assert read_transcript(directory) == story()[:7]
    assert read_artefact(directory, "E1") == b"x"


def test_a_transcript_in_step_is_only_added_to(mirrored: MirroredStore, tmp_path: Path) -> None:
    for event in story()[:5]:
        mirrored.append("7f3c", event)
    mirrored.transcript.close()
    file = mirrored.transcript.directory("7f3c") / "events.jsonl"
    before = file.stat().st_ino
    resumed = MirroredStore(mirrored.store, TranscriptWriter(tmp_path / "transcripts"))
    resumed.append("7f3c", story()[5])
    assert file.stat().st_ino == before
    assert read_transcript(file.parent) == story()[:6]


class Full:
    """A file whose disk is full for so many writes; what it could not write is tried again when it is closed."""

    def __init__(self, file: BinaryIO, fails: int) -> None:
        self.file, self.fails = file, fails

    def write(self, content: bytes) -> int:
        return self.file.write(content[:5])

    def flush(self) -> None:
        self.close()

    def close(self) -> None:
        if self.fails:
            self.fails -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        self.file.close()


def test_a_full_disk_below_the_transcript_stops_nothing_and_stores_nothing_twice(tmp_path: Path) -> None:
    mirrored = MirroredStore(SqliteStore(tmp_path / "runs.db"), TranscriptWriter(tmp_path / "transcripts"))
    first, *rest = story()
    mirrored.append("7f3c", first)
    opened = mirrored.transcript._open
    opened["7f3c"] = cast(BinaryIO, Full(opened["7f3c"], fails=2))
    for event in rest:
        mirrored.append("7f3c", event)
    mirrored.transcript.close()
    assert list(mirrored.events("7f3c")) == story()
    assert read_transcript(tmp_path / "transcripts" / "7f3c") == story()
