"""The second story over SSH: both engines really launched, and what the machine shows of container and boot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import SCALE


def test_the_demonstration_ends_with_both_engines_measured(client: Client, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    line = f"TMPDIR={temporary} LAB_TIME_SCALE={SCALE} specdoctor demo --world phantom-regression --json"
    ended = client.shell(line, within_s=600.0)
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["verdict"] == "not-enough-evidence"
    benches = [m for m in document["measurements"] if m["source"] == "bench"]
    assert len({m["software"] for m in benches}) == 2
    (installs,) = [c for c in document["comparisons"] if c["about"] == "installs"]
    assert installs["throughput_ratio"] == pytest.approx(1.0, abs=0.1)
    assert not {c["cause"] for c in document["causes"]} & {"VER-1", "GRAPH-3"}
    falsified = {h["cause"] for h in document["hypotheses"] if h["status"] == "falsified"}
    assert {"VER-1", "GRAPH-3"} <= falsified
    remembered = [c for c in document["claims"] if c["recalled_at"]]
    assert {c["status"] for c in remembered} == {"other-state"}
    assert "the container has been started" in document["state_change"]["since"]
    assert document["restored"] is True
