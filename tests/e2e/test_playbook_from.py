"""A run becomes a playbook, and the playbook is replayed on a second host on which one thing is another.

Which figures differ is told by the same in memory (tests/app/test_from_runs.py), where the machine's load is no part.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import Practice, check_put_back

WORLD = "graphs-off-by-flag"
FEW = ("--requests", "4")
BUSY_S = 400.0
POWER_CAPPED = """\
like: graphs-off-by-flag
name: the-other-host
host: {name: dev-3}
gpus:
  power_limit_w: 350.0
  clock_sm_mhz: 1140
  throttle_reasons: "0x0000000000000004"
physics:
  gpu_factor: 1.6
"""


@pytest.mark.timeout(900)
def test_the_thing_that_was_changed_is_named(lab_up: Callable[[str], Practice], client: Client, tmp_path: Path) -> None:
    first = lab_up(WORLD)
    symptom = "EAGLE-3 does 920 tok/s; without it this machine gave 1770"
    ended = client.run("investigate", *first.target, "--symptom", symptom, "--allow", "restart", *FEW, within_s=BUSY_S)
    assert ended.code == 0, ended.err
    made = client.run("playbook", "from", client.run_id, "--output", "as-found.yaml")
    assert made.code == 0, made.err
    checked = client.run("playbook", "check", "as-found.yaml")
    assert (checked.code, "no fault" in checked.out) == (0, True), checked.err

    world = tmp_path / "the-other-host.yaml"
    world.write_text(POWER_CAPPED)
    second = lab_up(str(world))
    found, files = second.running(), second.files_at_home()
    words = ("replay", "as-found.yaml", "--target", *second.target, "--junit", "replay.xml", "--json")
    again = client.run(*words, within_s=BUSY_S)
    differs = again.document["divergence"]
    assert differs["headline"].endswith("what differs: gpu.power_limit_w: 700.00 then, 350.00 now"), differs["headline"]
    assert [fact["key"] for fact in differs["facts"]] == ["gpu.power_limit_w"], "and nothing else does"
    now = {(f["finding"]["check"], f["finding"]["cause"]) for f in differs["findings"] if f["seen"] == "only now"}
    assert now == {("gpu-state", "ENV-3")}
    assert {f["launch"] for f in differs["figures"]} >= {"as found", "without speculation"}
    suite = ET.parse(client.work / "replay.xml").getroot().find("testsuite")
    assert suite is not None
    assert int(suite.get("tests", "0")) == len(again.document["expectations"])
    assert (suite.get("failures") == "0") is (again.code == 0)
    check_put_back(second, found, files)
