"""What must be equal where docker or systemd keeps the server: its surroundings, their files, what they say of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.practice import Practice
from tests.e2e.test_by_hand import on_host


def surroundings(practice: Practice) -> dict[str, Any]:
    """What has to be equal: words, environment, affinity, limits, folder, control group."""
    server = practice.running()
    proc = Path(f"/proc/{server.pid}")
    shown = practice.state / "proc" / str(server.pid)
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines() if ":" in line)
    return {
        "argv": server.argv,
        "env": server.lasting_environment,
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
    if world != "under-systemd":
        return None
    shown = "--property=Id,FragmentPath,DropInPaths,Restart,ActiveState,NeedDaemonReload"
    return on_host(practice, f"systemctl show sglang.service {shown}").stdout
