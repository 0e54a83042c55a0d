"""A repair over SSH on a real host: the drafter's folder is left alone, its copy is served, measured and taken away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import Practice, check_put_back

LabUp = Callable[..., Practice]
ASK = ("--symptom", "EAGLE-3 is slower than without speculation", "--allow", "restart", "--json")


def models_of(lab: Practice) -> dict[Path, int]:
    return {path: path.lstat().st_mtime_ns for path in (lab.state / "models").rglob("*")}


@pytest.mark.timeout(900)
def test_a_wiring_that_this_version_can_serve_is_repaired_and_confirmed(lab_up: LabUp, client: Client) -> None:
    lab = lab_up("off-by-one", scale=0.2)
    found, files, models = lab.running(), lab.files_at_home(), models_of(lab)
    ended = client.run("investigate", *lab.target, *ASK, within_s=600.0)
    assert ended.code == 0, ended.err
    repairs = [h for h in ended.document["hypotheses"] if h["claim"].startswith("with eagle_config.")]
    assert [h["status"] for h in repairs] == ["supported", "supported"]
    assert "= [3, 31, 59] the accept length comes to" in repairs[0]["claim"]
    assert "accept_length within " in repairs[0]["predicts"]
    assert ended.document["cost"]["restarts"] == 3
    assert ended.document["restored"] is True
    assert models_of(lab) == models
    check_put_back(lab, found, files)
