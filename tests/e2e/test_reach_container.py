"""A server in a container of the practice host, looked at from inside."""

from __future__ import annotations

import shutil

import pytest

from tests.e2e.client import Client
from tests.e2e.conftest import LabUp

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="the OpenSSH client is not installed")


def test_it_can_be_read_and_measured_but_not_restarted_with_a_line_that_works(lab_up: LabUp, client: Client) -> None:
    lab = lab_up("in-docker")
    found = lab.running()
    looked = client.run("doctor", *lab.target, "--via", "docker:sglang-prod", "--ssh", "openssh", "--json")
    assert looked.code == 0, looked.err
    tiers = {finding["name"]: finding for finding in looked.document["findings"]}
    assert tiers["tier load"]["state"] == "ok"
    assert tiers["tier restart"]["state"] == "no"
    assert "reached through docker:sglang-prod" in tiers["tier restart"]["text"]
    pasted = client.shell(f"ssh -F {lab.config} lab {tiers['tier restart']['then']}")
    assert pasted.code == 0, pasted.err
    assert "RestartPolicy" in pasted.out
    nowhere = client.run("doctor", *lab.target, "--via", "docker:nope")
    assert nowhere.code == 5
    assert "docker:nope on lab: docker knows no container nope" in nowhere.err
    assert lab.running() == found
