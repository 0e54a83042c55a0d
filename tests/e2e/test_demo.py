"""The demonstration and the practice host leave nothing behind, not even when they are stopped early."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.client import Client
from tests.e2e.practice import SCALE, Practice, eventually


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


def test_a_practice_host_that_is_stopped_before_it_is_up_leaves_nothing(tmp_path: Path) -> None:
    lab = Practice("kimi-k2.5-eagle3", tmp_path / "host", scale=100.0)
    try:
        assert eventually(lambda: lab.server() is not None, within_s=60.0), lab.printed
    finally:
        code = lab.stop()
    assert code == 130
    assert "Traceback" not in lab.printed
    assert lab.server() is None
    assert not lab.state.exists()
