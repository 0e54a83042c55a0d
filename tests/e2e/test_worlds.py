"""What an investigation over SSH concludes on the other practice worlds, and how a server that is down is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import SCALE, Practice, check_put_back

LabUp = Callable[..., Practice]
SCALES = {"request-cap-48": 0.5}
"""64 clients of one Python process keep up with the server at this speed."""


def roles(document: dict[str, Any]) -> dict[str, str]:
    """The role of each supported cause."""
    return {c["cause"]: c["role"] for c in document["causes"] if c["status"] == "supported"}


@pytest.mark.parametrize(
    ("world", "symptom", "flags", "cause"),
    [
        ("graphs-off-by-flag", "EAGLE-3 does 920 tok/s; without it this machine gave 1770", (), "CFG-5"),
        ("override-is-the-cause", "EAGLE-3 is no faster than without speculation", (), "CFG-3"),
        ("request-cap-48", "requests wait for their first token", ("--concurrency", "64"), "CFG-1"),
    ],
)
def test_the_cause_is_found(
    world: str, symptom: str, flags: tuple[str, ...], cause: str, lab_up: LabUp, client: Client
) -> None:
    lab = lab_up(world, scale=SCALES.get(world, SCALE))
    found, files = lab.running(), lab.files_at_home()
    ended = client.run("investigate", *lab.target, "--symptom", symptom, "--allow", "restart", *flags, "--json")
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["verdict"] == "cause"
    assert roles(document).get(cause) == "explains", document["causes"]
    assert document["recommendation"]["launch"] != document["recommendation"]["rollback"]
    assert document["restored"] in (True, None)
    check_put_back(lab, found, files)


def test_a_server_that_is_down(lab_up: LabUp, client: Client) -> None:
    lab = lab_up("server-down")
    files = lab.files_at_home()
    ended = client.run("investigate", *lab.target, "--symptom", "the server does not answer", "--allow", "restart")
    assert ended.code == 5, ended.err
    assert "Traceback" not in ended.err + ended.out
    last = lab.server_log.read_text().strip().splitlines()[-1].partition("] ")[2]
    assert last
    said = re.sub(r"\s+", " ", ended.out)
    assert "the GPU ran out of memory" in said
    assert "down; last log lines: " in said
    assert last in said
    assert lab.server() is None
    assert lab.files_at_home() == files


def test_a_host_without_python_is_read_by_a_shell_script_and_left_alone(lab_up: LabUp, client: Client) -> None:
    lab = lab_up("no-python")
    found, files = lab.running(), lab.files_at_home()
    ended = client.run("investigate", *lab.target, "--symptom", "slower than without EAGLE-3", "--allow", "restart")
    said = re.sub(r"\s+", " ", ended.out + ended.err)
    assert ended.code == 3, ended.err
    assert "CFG-5 CUDA graphs are disabled by flag" in said
    assert "has no Python 3.6 or later" in said
    assert lab.running().pid == found.pid
    assert lab.files_at_home() == files
