"""Hostile words in what a keeper keeps: they stay words on the way through docker and systemd, and nothing is run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from specdoctor.core.facts import Facts
from specdoctor.core.operations import SnapshotRequest
from specdoctor.engines.sglang import engine
from specdoctor.lab.boot import boot
from specdoctor.lab.host import PracticeHost
from specdoctor.operations.programs import ProgramName, probe_params, program_text
from tests.lab.host_world import small_world

HOSTILE = (
    "$(touch marker) `touch marker` ; touch marker | touch marker && touch marker > marker ' \" -v /:/host "
    "--privileged $HOME ${IFS} * ~ %n%i %% \\ #x !y {a,b} \x1b[31mred\x07 caf\u00e9 \U0001f600 \u202e"
)
IMAGE = "lmsysorg/sglang:v0.5.17"
DOCKER = {"kind": "docker", "name": "sglang-prod", "image": IMAGE, "labels": {"team": HOSTILE}}
SYSTEMD = {"kind": "systemd", "lines": []}


def told(host: PracticeHost, name: ProgramName, params: dict[str, Any]) -> dict[str, Any]:
    """What a program answers that is run on the host."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-"], input=program_text(name, params).encode(), env=host.environment,
        cwd=host.home, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def ended(host: PracticeHost, action: str, first: dict[str, Any]) -> dict[str, Any]:
    answer = first
    deadline = time.monotonic() + 120
    while answer.get("outcome") is None:
        assert "error" not in answer, answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.5)
        answer = told(host, "lifecycle", {"cmd": "poll", "run": "run1", "action": action, "offsets": []})
    outcome: dict[str, Any] = answer["outcome"]
    return outcome


@pytest.mark.parametrize("keeper", [DOCKER, SYSTEMD], ids=["docker", "systemd"])
def test_hostile_words_stay_words(keeper: dict[str, Any], tmp_path: Path) -> None:
    world = small_world(keeper=keeper)
    argv = [*world.launch.argv, "--chat-template", HOSTILE, "--served-model-name", HOSTILE]
    launch = world.launch.model_copy(update={"argv": tuple(argv), "env": {**world.launch.env, "ODD": HOSTILE}})
    world = world.model_copy(update={"launch": launch})
    with PracticeHost(world, state_dir=tmp_path / "host", time_scale=0.1) as host:
        boot(host, wait_s=60)
        view = engine.servers(Facts.model_validate(told(host, "probe", probe_params(SnapshotRequest()))))[0]
        assert view.keeper.restartable, view.keeper
        assert HOSTILE in view.argv
        order = {
            "run": "run1", "action": "a1", "server": view.ref.model_dump() if view.ref else {},
            "keeper": view.keeper.through.model_dump(),
            "rules": engine.ready_rules(view.version).model_dump(mode="json"),
            "change": {
                "label": "x", "set_flags": {"--max-running-requests": ["7"]}, "remove_flags": [], "switches": [],
                "set_env": {"ODDER": HOSTILE}, "remove_env": [],
            },
            "ready_timeout_s": 90.0, "stop_timeout_s": 20.0, "release_timeout_s": 30.0, "memory_settle_mb": 2048,
        }  # fmt: skip
        lease = {"who": HOSTILE, "grace_s": 600.0, "guard_seen": None}
        tested = ended(host, "a1", told(host, "lifecycle", {"cmd": "begin", "order": order, **lease}))
        assert tested["status"] == "ready", tested
        proc = Path(f"/proc/{tested['server']['pid']}")
        words = proc.joinpath("cmdline").read_bytes().decode().split("\0")[:-1]
        environment = proc.joinpath("environ").read_bytes().decode().split("\0")
        assert words[-2:] == ["--max-running-requests", "7"]
        assert words.count(HOSTILE) == argv.count(HOSTILE)
        assert f"ODDER={HOSTILE}" in environment
        back = {name: order[name] for name in order if name not in ("server", "keeper", "change")}
        restore = {"cmd": "restore", "order": {**back, "action": "r1", "port": view.ref.port if view.ref else 0}}
        restored = ended(host, "r1", told(host, "lifecycle", restore))
        assert restored["status"] == "restored"
        assert set(restored["equal"].values()) == {True}, restored["differences"]
        told(host, "lifecycle", {"cmd": "release", "run": "run1"})
        assert not list(tmp_path.rglob("marker"))
