"""The demonstration from nothing to a verdict, and what it leaves behind: nothing but its run."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.client import Client
from tests.e2e.practice import SCALE


def test_a_demo_ends_well_whatever_the_verdict(client: Client, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    line = f"TMPDIR={temporary} LAB_TIME_SCALE={SCALE} specdoctor demo --world server-down --json"
    ended = client.shell(line, within_s=120.0)
    assert ended.code == 0, ended.err
    assert [c["cause"] for c in ended.document["causes"]] == ["MEM-1"]
    assert ended.document["finished"] is True
    assert [path for path in temporary.rglob("*") if path.is_file()] == []
    assert len(client.transcripts) == 1
