"""A file of facts as a target: looked at, never acted on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from specdoctor.core.errors import PolicyError, UsageError
from specdoctor.core.facts import Facts, HostFacts
from specdoctor.core.launch import ReadyRules, RestoreOrder
from specdoctor.core.operations import Operations, SnapshotRequest
from specdoctor.core.server import ServerRef
from specdoctor.operations.facts_file import FactsFileOperations, read_facts_file


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "facts.json"
    path.write_text(Facts(taken_at=5.0, host=HostFacts(hostname="eagle-a")).model_dump_json(by_alias=True))
    return path


def test_the_snapshot_is_the_file(recording: Path) -> None:
    operations: Operations = FactsFileOperations(recording)
    assert operations.target == "eagle-a"
    assert operations.snapshot(SnapshotRequest()).taken_at == 5.0
    assert operations.state("run1").way_back is False
    assert operations.release("run1") == ()
    operations.close()


def test_acting_is_refused_with_what_to_do(recording: Path) -> None:
    operations = FactsFileOperations(recording)
    rules = ReadyRules(ready="ready", failures=(), phases=())
    order = RestoreOrder(run="run1", action="r1", port=30000, rules=rules, ready_timeout_s=5)
    with pytest.raises(
        PolicyError, match=r"facts\.json is a recording of facts: it cannot put back .* 30000"
    ) as failure:
        operations.restore(order, lambda progress: None)
    assert "name the host itself" in failure.value.next_step


def test_nothing_new_is_seen_while_watching(recording: Path) -> None:
    server = ServerRef(pid=7, start_ticks=1, port=30000)
    record = FactsFileOperations(recording).watch(server, seconds=5, log_path=None)
    assert record.foreign_requests is None
    assert record.log == ""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no facts: the whole file"),
        ("[]", "no facts"),
        ('{"processes": [{"pid": "x"}]}', r"processes\.0\.pid"),
        ('{"schema": "other/9"}', "says 'other/9'"),
        ("{}", 'it has no "schema"'),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "facts.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=words) as failure:
        FactsFileOperations(path)
    assert "specdoctor probe --print" in failure.value.next_step


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        FactsFileOperations(tmp_path / "none.json")


@pytest.mark.parametrize(
    "stored",
    [
        lambda text: text.encode("utf-16"),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: b"Welcome to gpu-7!\n* do not disturb\n" + text.encode(),
    ],
    ids=["utf-16", "byte order mark", "after a greeting"],
)
def test_facts_are_read_as_they_were_redirected(
    recording: Path, tmp_path: Path, stored: Callable[[str], bytes]
) -> None:
    path = tmp_path / "redirected.json"
    path.write_bytes(stored(recording.read_text()))
    assert read_facts_file(path) == read_facts_file(recording)


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(UsageError, match="a device"):
        read_facts_file(Path("/dev/zero"))
