"""Old against new by image: a sibling container made from the image before, measured against the one that runs."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.client import Client
from tests.e2e.practice import SCALE


def test_the_image_before_explains_the_loss_and_the_original_comes_back(client: Client, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    line = f"TMPDIR={temporary} LAB_TIME_SCALE={SCALE} specdoctor demo --world image-regression --json"
    ended = client.shell(line, within_s=600.0)
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["verdict"] == "cause"
    assert [(c["cause"], c["role"]) for c in document["causes"] if c["status"] == "supported"] == [
        ("VER-1", "explains")
    ]
    (installs,) = [c for c in document["comparisons"] if c["about"] == "installs"]
    assert installs["outcome"] == "better"
    assert {m["software"] for m in document["measurements"] if m["source"] == "bench"} == {"0.5.12", "0.5.11"}
    assert document["recommendation"]["where"] == "in a container of lmsysorg/sglang:v0.5.11-cu129"
    assert "#" not in document["recommendation"]["launch"]
    assert document["restored"] is True
