"""A whole investigation through the system's own ssh client, and what is left of that client afterwards."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import Practice, eventually

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="the OpenSSH client is not installed")


def masters(lab: Practice) -> list[str]:
    """Command lines of ssh masters with a connection to this practice host."""
    mark = str(lab.config).encode()
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return [line.decode(errors="replace") for line in lines if b"ControlPath" in line and mark in line]


def test_an_investigation_reads_through_the_client_and_a_resume_goes_the_same_way(
    lab: Practice, client: Client
) -> None:
    found, files = lab.running(), lab.files_at_home()
    ended = client.run("investigate", *lab.target, "--ssh", "openssh", "--symptom", "slower than without", "--json")
    assert ended.code == 4, ended.err
    assert client.events()[0]["settings"]["ssh_transport"] == "openssh"
    assert eventually(lambda: not masters(lab), within_s=10.0)
    resumed = client.run("investigate", "--resume", client.run_id, "--json")
    assert resumed.code == 4, resumed.err
    assert json.loads(resumed.out)["restored"] is None
    assert lab.running() == found
    assert lab.files_at_home() == files
    assert eventually(lambda: not masters(lab), within_s=10.0)
