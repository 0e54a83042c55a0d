"""What comes back after a restart is the same server: where it ran, where its memory lies, and what it keeps secret."""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import Practice, check_put_back

LabUp = Callable[[str], Practice]
SYMPTOM = "EAGLE-3 does 920 tok/s; without it this machine gave 1770"
SECRETS = (b"sk-practice-7Hq2vXw94LmTz0bR", b"hf_PracticeQmWnEbRvTcYxUz", b"Pr4ct1ce-Pa55")

FORGETTING = """
import sys
from specdoctor.operations import programs
from specdoctor.cli.main import run

whole, left = programs.source, {changes!r}


def source(name):
    text = whole(name)
    for old in [old for old in left if old in text]:
        text = text.replace(old, left[old])
        done.add(old)
    return text


done = set()
programs.source = source
programs.joined_parts.cache_clear()
programs.joined_parts("lifecycle")
assert done == set(left), set(left) - done
sys.exit(run())
"""
"""A specdoctor that neither binds what it starts nor looks whether it is bound."""

BINDING = {
    '        lambda: _set_affinity(record["affinity"]),\n': "",
    '        lambda: _set_policy(record["numa_policy"]),\n': "",
    "groups affinity limits": "groups limits",
    "oom_score_adj numa_policy": "oom_score_adj",
}


def policies(pid: int) -> set[str]:
    """The memory policies of a process's mappings, as the kernel has them."""
    text = Path(f"/proc/{pid}/numa_maps").read_text(encoding="utf-8")
    return {re.sub(r"=\w+", "", word) for word in re.findall(r"^[0-9a-f]+ (\S+)", text, re.MULTILINE)}


def files_with(folder: Path, secret: bytes) -> set[Path]:
    """Files below a folder that hold these bytes; links are not followed."""
    found = set()
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > 1 << 28:
            continue
        if secret in path.read_bytes():
            found.add(path)
    return found


def answers(port: int, key: str) -> int:
    """The status of an authorised request."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/models", headers={"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as refused:
        return refused.code


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU cannot be divided into two nodes")
@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="this kernel knows no memory policies")
def test_it_runs_where_it_ran_and_its_memory_lies_where_it_lay(lab_up: LabUp, client: Client) -> None:
    lab = lab_up("numactl-wrapped")
    found, files = lab.running(), lab.files_at_home()
    before = (os.sched_getaffinity(found.pid), policies(found.pid))
    ended = client.run("investigate", *lab.target, "--symptom", SYMPTOM, "--allow", "restart", "--json")
    assert ended.code == 0, ended.err
    after = lab.running()
    assert after.pid != found.pid
    assert before == ({0}, {"bind:0"})
    assert (os.sched_getaffinity(after.pid), policies(after.pid)) == before
    assert ended.document["restored"] is True
    restored = [e["outcome"]["equal"] for e in client.events() if e["kind"] == "server.restored"]
    assert restored[-1]["affinity"] is True
    assert restored[-1]["numa_policy"] is True
    check_put_back(lab, found, files)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU cannot be divided into two nodes")
@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="this kernel knows no memory policies")
def test_what_came_back_unbound_is_noticed_by_its_speed(lab_up: LabUp, client: Client) -> None:
    lab = lab_up("numactl-wrapped")
    words = ("investigate", *lab.target, "--symptom", SYMPTOM, "--allow", "restart", "--json")
    ended = client.python(FORGETTING.format(changes=BINDING), *words)
    assert len(os.sched_getaffinity(lab.running().pid)) > 1, ended.err
    assert policies(lab.running().pid) == {"default"}
    control = ended.document["control"]
    assert control["equal"] is False, ended.err
    assert "CAME BACK SLOWER" in control["text"]


def test_the_restored_server_has_its_key_and_nobody_else_has(lab_up: LabUp, client: Client) -> None:
    lab = lab_up("secret-in-argv")
    found, files = lab.running(), lab.files_at_home()
    held = {secret: files_with(lab.state, secret) for secret in SECRETS}
    ended = client.run("investigate", *lab.target, "--symptom", SYMPTOM, "--allow", "restart", "--json")
    assert ended.code == 0, ended.err
    key = SECRETS[0].decode()
    assert lab.running().pid != found.pid
    assert answers(lab.server_port, key) == 200
    assert answers(lab.server_port, "sk-another") == 401
    for secret in SECRETS:
        assert client.files_with(secret) == []
        assert files_with(lab.state, secret) <= held[secret]
    assert '--api-key "$SGLANG_API_KEY"' in ended.document["recommendation"]["launch"]
    assert lab.running().surroundings == found.surroundings
    assert lab.files_at_home() == files
