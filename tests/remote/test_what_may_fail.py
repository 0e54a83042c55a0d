"""What may go wrong on the way back without keeping the server down."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.remote.guards import the_original
from tests.remote.orders import call, relaunch, restore_order, restored, run_folder
from tests.remote.workplace import Workplace, is_alive, loaded, start_ticks, wait_for

lifecycle = loaded("lifecycle")


def refuse(*words: str, **limits: float) -> str:
    raise lifecycle.Refusal("keeper-refused", f"{words[0]}: no space left on device")


def test_a_comparison_that_cannot_be_made_is_told_beside_a_server_that_is_up() -> None:
    worker = lifecycle.Worker.__new__(lifecycle.Worker)
    worker.driver, worker.record = SimpleNamespace(compare=lambda record, pid, notes: refuse("inspect")), {}
    worker.state = {"notes": {}}
    equal, differences = worker.compared(1, {})
    assert equal == {"comparison": False}
    assert differences == {"comparison": "it could not be made: inspect: no space left on device"}


def test_a_stopped_sibling_that_cannot_be_removed_does_not_end_a_restoration() -> None:
    docker = lifecycle.Docker({"kind": "docker", "name": "engine"})
    done: list[str] = []
    docker.siblings = lambda record: [{"Id": "test"}]
    docker.inspected = lambda name: {"Id": "original"}

    def halt(inspect: dict[str, str], timeout_s: float) -> set[int]:
        done.append(inspect["Id"])
        return {len(done)}

    docker.halt = halt
    docker.tool = refuse
    assert docker.stop({"inspect": {"Id": "original"}}, None, 1.0) == {1, 2}
    assert done == ["test", "original"]


@pytest.mark.slow
def test_a_command_whose_child_holds_its_output_is_not_waited_for() -> None:
    began = time.monotonic()
    reply = lifecycle.run_command(["sh", "-c", "echo stopped; sleep 60 & exit 0"], 0.3)
    assert time.monotonic() - began < 20.0
    assert reply["error"] == "no end after 0.3 s"


class Refusing(lifecycle.Guard):  # type: ignore[misc, name-defined]  # made from the joined program
    """A guard whose keeper refuses, as often as `times`; then something is there."""

    times = 5

    def try_once(self, lock: int | None) -> bool:
        if lock is not None:
            lifecycle.drop_lock(self.folder, self.port, lock)
        self.times -= 1
        if self.times < 0:
            self.end("restored", "")
            return True
        if self.times % 2:
            raise OSError(28, "No space left on device")
        refuse("start")
        return False


@pytest.mark.slow
@pytest.mark.parametrize(("times", "result"), [(4, "restored"), (99, "failed")])
def test_what_stands_before_a_start_is_tried_more_often(tmp_path: Path, times: int, result: str) -> None:
    folder = tmp_path / "run1"
    folder.mkdir(mode=0o700)
    order: dict[str, Any] = dict.fromkeys(lifecycle.ORDER_KEYS)
    record = {"server": {"port": 1}}
    guard = Refusing(str(folder), record, lifecycle.new_story(record, {**order, "run": "run1", "grace_s": 0.01}, []))
    guard.times = times
    time.sleep(0.05)
    assert guard.act() is True
    told = json.loads((folder / "guard.json").read_text())
    assert told["result"] == result
    assert sum("no space left on device" in text.lower() for _, text in told["story"]) >= min(times, 12)


HOLDS = "import socket, sys, time; s = socket.socket(); s.setsockopt(1, 2, 1); s.bind(('127.0.0.1', int(sys.argv[1])))"
HOLDS += "; s.listen(); print('up', flush=True); time.sleep(600)"


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["of a stop that was cut short", "of a start that has ended"])
def test_an_orphan_of_this_runs_server_is_cleared_away(place: Workplace, whose: str) -> None:
    server = place.start()
    new = relaunch(place, server)["outcome"]["server"]
    os.killpg(new["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(new["pid"]))
    starter = f'{sys.executable} -c "{HOLDS}" {server.port} >{place.root}/up & echo $!'
    shell = subprocess.Popen(["sh", "-c", starter], stdout=subprocess.PIPE, start_new_session=True, cwd=place.root)
    assert shell.stdout is not None
    orphan = int(shell.stdout.readline())
    shell.wait()
    wait_for(lambda: (place.root / "up").exists() and (place.root / "up").read_text())
    refused = call(place, cmd="restore", order=restore_order(server, "r0"))
    assert refused["error"]["kind"] == "port-taken"
    path = run_folder(place) / "action-a1.json"
    state = json.loads(path.read_text())
    ticks = start_ticks(orphan)
    if whose == "of a stop that was cut short":
        state["members"] = [[orphan, ticks]]
    else:
        state["launched"] = {"pid": shell.pid, "start_ticks": ticks - 1, "port": server.port}
    path.write_text(json.dumps(state))
    assert restored(place, server)["status"] == "restored"
    assert not is_alive(orphan)
    the_original(place, server)
