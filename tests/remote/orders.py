"""Orders for the lifecycle program, and looking at what became of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.remote.workplace import FakeServer, Workplace, is_alive, wait_for

RULES = {
    "ready": "ready to roll",
    "failures": ["Scheduler hit an exception"],
    "phases": [["loading weights", "Load weight begin"], ["weights loaded", "Load weight end"]],
    "health_path": "/health",
}


NOTHING: dict[str, Any] = {
    "label": "x",
    "set_flags": {},
    "remove_flags": [],
    "switches": [],
    "set_env": {},
    "remove_env": [],
}


def order(server: dict[str, int], action: str = "a1", **changes: Any) -> dict[str, Any]:
    return {
        "run": "run1",
        "action": action,
        "server": server,
        "change": {**NOTHING, **changes},
        "rules": RULES,
        "ready_timeout_s": 20.0,
        "stop_timeout_s": 1.0,
        "release_timeout_s": 10.0,
        "memory_settle_mb": 2048,
    }


def restore_order(server: FakeServer, action: str = "r1") -> dict[str, Any]:
    whole = order(server.ref if is_alive(server.pid) else {}, action)
    return {name: whole[name] for name in whole if name not in ("server", "change")} | {"port": server.port}


LEASE = {"who": "ml@laptop", "grace_s": 120.0, "guard_seen": None}


def call(place: Workplace, **params: Any) -> dict[str, Any]:
    """One command of the lifecycle program; an order to begin comes with a lease."""
    return place.run("lifecycle", {**(LEASE if params["cmd"] == "begin" else {}), **params})


def ended(place: Workplace, action: str) -> dict[str, Any]:
    """The last state of an action, once it has an outcome."""

    path = run_folder(place) / f"action-{action}.json"
    wait_for(lambda: path.exists() and json.loads(path.read_text())["outcome"])
    return call(place, cmd="poll", run="run1", action=action, offsets=[])


def relaunch(place: Workplace, server: FakeServer, action: str = "a1", **changes: Any) -> dict[str, Any]:
    call(place, cmd="begin", order=order(server.ref, action, **changes))
    return ended(place, action)


def restored(place: Workplace, server: FakeServer, action: str = "r1") -> dict[str, Any]:
    answer = call(place, cmd="restore", order=restore_order(server, action))
    found = answer if answer["outcome"] else ended(place, action)
    outcome: dict[str, Any] = found["outcome"]
    return outcome


def run_folder(place: Workplace) -> Path:
    return place.root / ".local" / "state" / "specdoctor" / "run1"


def argv_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "surrogateescape")[:-1].split("\0")


def server_ref(place: Workplace) -> dict[str, int]:
    record = json.loads((run_folder(place) / "way_back.json").read_text())
    found: dict[str, int] = record["server"]
    return found


def refused(place: Workplace, **params: Any) -> str:
    error = call(place, **params)["error"]
    return f"{error['kind']}: {error['message']}"
