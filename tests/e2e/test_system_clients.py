"""The practice host and the probe through the system's own OpenSSH clients."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import KIMI_KEY, Practice

pytestmark = pytest.mark.skipif(
    shutil.which("ssh") is None or shutil.which("sftp") is None, reason="the OpenSSH clients are not installed"
)


def test_the_printed_ssh_command_looks_around(lab: Practice, client: Client) -> None:
    look = lab.told("look around")
    gpus = client.shell(f"{look} nvidia-smi --query-gpu=name --format=csv,noheader")
    assert (gpus.code, gpus.out) == (0, "NVIDIA H200\n" * 8), gpus.err
    processes = client.shell(f"{look} 'ps -o args= -p $(pgrep -f -- --model-path | head -1)'")
    assert "sglang.launch_server" in processes.out
    assert client.shell(f"{look} 'exit 7'").code == 7


def test_the_printed_sftp_command_copies_the_log(lab: Practice, client: Client) -> None:
    log = lab.told("log")
    copied = client.shell(f"echo 'get {log} copied.log' | {lab.told('copy files')}")
    assert copied.code == 0, copied.err
    text = (client.work / "copied.log").read_text()
    assert "server_args=" in text
    assert "Decode batch" in text


def test_the_printed_probe_through_plain_ssh_gives_facts_to_judge(lab: Practice, client: Client) -> None:
    found, files = lab.running(), lab.files_at_home()
    look = lab.told("look around")
    probed = client.shell(f"specdoctor probe --print | {look} python3 - > facts.json")
    assert probed.code == 0, probed.err
    facts = json.loads((client.work / "facts.json").read_text())
    assert facts["schema"].startswith("specdoctor.facts/")
    judged = client.run("investigate", "--from", "facts.json", "--symptom", "slower than without", "--json")
    assert judged.code == 3, judged.err
    document = judged.document
    assert ("CFG-3", "supported") in [(c["cause"], c["status"]) for c in document["causes"]]
    assert document["cost"]["restarts"] == 0
    assert document["restored"] is None
    assert lab.running() == found
    assert lab.files_at_home() == files
    assert client.files_with(KIMI_KEY.encode()) == []
