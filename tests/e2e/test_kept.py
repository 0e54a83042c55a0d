"""Servers that docker or systemd keep: restarted through their keeper, and afterwards as if nothing had been."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import Practice
from tests.e2e.test_by_hand import on_host

ASKED = ("--symptom", "slower with EAGLE-3 than without", "--requests", "4", "--allow", "restart", "--json")
VOLATILE = ("INVOCATION_ID=", "JOURNAL_STREAM=")


def surroundings(practice: Practice) -> dict[str, Any]:
    """What has to be equal: words, environment, affinity, limits, folder, control group."""
    server = practice.running()
    proc = Path(f"/proc/{server.pid}")
    shown = practice.state / "proc" / str(server.pid)
    env = sorted(word for word in server.environment if not word.decode("utf-8", "replace").startswith(VOLATILE))
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines() if ":" in line)
    return {
        "argv": server.argv,
        "env": env,
        "affinity": server.affinity,
        "cwd": server.cwd,
        "limits": (proc / "limits").read_text(),
        "umask": status["Umask"],
        "cgroup": (shown / "cgroup").read_text(),
    }


def files_of(practice: Practice) -> dict[str, bytes]:
    """Every file of units on the host, drop-ins included."""
    found = {}
    for folder in ("etc/systemd", "files/run"):
        for path in (practice.state / folder).rglob("*"):
            if path.is_file():
                found[str(path)] = path.read_bytes()
    return found


def kept_things(practice: Practice, world: str) -> Any:
    """What the keeper says of what it keeps, without what differs from start to start."""
    if world == "in-docker":
        documents = json.loads(on_host(practice, "docker inspect $(docker ps -aq)").stdout)
        return [
            {key: each[key] for key in ("Id", "Name", "Image", "Path", "Args", "Config", "HostConfig")}
            for each in documents
        ]
    shown = "--property=Id,FragmentPath,DropInPaths,Restart,ActiveState,NeedDaemonReload"
    return on_host(practice, f"systemctl show sglang.service {shown}").stdout


@pytest.mark.parametrize("world", ["in-docker", "under-systemd"])
def test_a_kept_server_is_restarted_and_comes_back_as_it_was(world: str, tmp_path: Path) -> None:
    practice = Practice(world, tmp_path / "host").await_up()
    try:
        client = Client(tmp_path / "client")
        before = (surroundings(practice), files_of(practice), kept_things(practice, world))
        pid, home = practice.running().pid, practice.files_at_home()
        ended = client.run("investigate", *practice.target, *ASKED)
        document = ended.document
        assert document["cost"]["restarts"] >= 2, ended.err
        assert document["restored"] is True, ended.err
        assert practice.running().pid != pid
        assert surroundings(practice) == before[0]
        assert files_of(practice) == before[1]
        assert kept_things(practice, world) == before[2]
        assert practice.files_at_home() == home
    finally:
        practice.stop()
