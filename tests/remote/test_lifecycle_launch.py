"""Restarting a real server changed: carried out once, refused when not proved, survived by the way back."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from typing import Any

import pytest

from tests.remote.orders import (
    LEASE,
    call,
    ended,
    order,
    refused,
    relaunch,
    restore_order,
    restored,
    run_folder,
    server_ref,
)
from tests.remote.workplace import Workplace, children, is_alive, wait_for

pytestmark = pytest.mark.thorough


def test_the_way_back_is_private_and_complete_before_the_stop(place: Workplace) -> None:
    server = place.start("--api-key", "k3y-Very-Private", "--fake-ignore-term")
    call(place, cmd="begin", order=order(server.ref))
    assert is_alive(server.pid), "it ignores SIGTERM, so it still runs"

    record = json.loads((run_folder(place) / "way_back.json").read_text())

    assert record["argv"] == server.argv
    assert record["env"]["PYTHONPATH"]
    assert record["server"] == server.ref
    for path, mode in ((run_folder(place), 0o700), (run_folder(place) / "way_back.json", 0o600)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert ended(place, "a1")["outcome"]["status"] == "ready"


def test_a_server_that_ignores_sigterm_is_killed_with_its_children(place: Workplace) -> None:
    server = place.start("--fake-ignore-term")
    worker = children(server.pid)[0]
    asked = order(server.ref)
    asked["stop_timeout_s"] = 0.5
    call(place, cmd="begin", order=asked)
    assert ended(place, "a1")["stop_s"] >= 0.5
    assert not is_alive(server.pid)
    assert not is_alive(worker)


def test_an_order_given_twice_is_carried_out_once(place: Workplace) -> None:
    server = place.start()
    asked = order(server.ref)
    call(place, cmd="begin", order=asked)
    call(place, cmd="begin", order=asked)
    state = ended(place, "a1")
    again = call(place, cmd="begin", order=asked)
    assert again["outcome"] == state["outcome"]
    assert is_alive(again["outcome"]["server"]["pid"])
    assert state["log"].count("Load weight begin") == 1


def test_killing_the_controller_in_the_middle_loses_nothing(place: Workplace) -> None:
    server = place.start("--fake-start-s", "0.5")
    text = place.text("lifecycle", {"cmd": "begin", "order": order(server.ref), **LEASE}).encode()
    controller = subprocess.Popen(
        place.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=place.surroundings(), start_new_session=True
    )
    assert controller.stdin is not None
    controller.stdin.write(text)
    controller.stdin.close()
    wait_for((run_folder(place) / "action-a1.json").exists)
    os.killpg(controller.pid, signal.SIGKILL)
    controller.wait()

    state = ended(place, "a1")

    assert state["outcome"]["status"] == "ready"
    assert restored(place, server)["status"] == "restored"


@pytest.mark.parametrize("phase", ["stopping", "starting"])
def test_an_order_whose_worker_was_killed_is_taken_up_again(place: Workplace, phase: str) -> None:
    server = place.start("--fake-start-s", "0.5", *(["--fake-ignore-term"] if phase == "stopping" else []))
    asked = order(server.ref)
    call(place, cmd="begin", order=asked)
    path = run_folder(place) / "action-a1.json"

    def reached() -> Any:
        state = json.loads(path.read_text())
        there = state["let_go"] if phase == "starting" else state["phase"] == "stopping"
        return state if there else None

    lost = wait_for(reached)
    os.kill(lost["worker"]["pid"], signal.SIGKILL)
    state = call(place, cmd="poll", run="run1", action="a1")
    assert state["outcome"] is None
    assert state["worker_alive"] is False
    assert call(place, cmd="state", run="run1")["actions"]["a1"].startswith("lost while ")

    call(place, cmd="begin", order=asked)

    state = ended(place, "a1")
    assert state["outcome"]["status"] == "ready"
    assert state["log"].count("Load weight begin") == 1
    if phase == "starting":
        assert state["outcome"]["server"]["pid"] == lost["launched"]["pid"]


def test_a_start_that_fails_is_an_outcome_and_leaves_nothing_running(place: Workplace) -> None:
    server = place.start()
    state = relaunch(place, server, set_flags={"--fake-fail": ["vocabularies 8192 and 4096 differ"]})
    outcome = state["outcome"]
    assert outcome["status"] == "failed"
    assert outcome["server"] is None
    assert "exited with code 7" in outcome["reason"]
    assert "vocabularies 8192 and 4096 differ" in state["log"]
    assert not is_alive(state["launched"]["pid"])
    assert call(place, cmd="state", run="run1")["running"] is None

    again = call(place, cmd="begin", order=order(server_ref(place), "a2"))
    assert "error" not in again, "another try needs no restoration in between"
    assert ended(place, "a2")["outcome"]["status"] == "ready"
    assert restored(place, server)["status"] == "restored"


def test_a_start_that_takes_too_long_is_stopped(place: Workplace) -> None:
    server = place.start()
    asked = order(server.ref, set_flags={"--fake-start-s": ["30"]})
    asked["ready_timeout_s"] = 1.0
    call(place, cmd="begin", order=asked)
    state = ended(place, "a1")
    assert state["outcome"]["status"] == "timeout"
    assert "loading weights" in state["outcome"]["reason"]
    assert not is_alive(state["launched"]["pid"])


def test_refuses_a_pid_that_is_another_process_now(place: Workplace) -> None:
    server = place.start()
    answer = refused(place, cmd="begin", order=order({**server.ref, "start_ticks": 1}))
    assert answer.startswith("not-the-server: ")
    assert is_alive(server.pid)
    assert not run_folder(place).exists()


def test_refuses_a_port_that_belongs_to_somebody_else(place: Workplace) -> None:
    server, other = place.start(), place.start()
    answer = refused(place, cmd="begin", order=order({**server.ref, "port": other.port}))
    assert "does not belong to pid" in answer
    assert is_alive(server.pid)


def test_refuses_to_stop_an_original_whose_words_have_changed(place: Workplace) -> None:
    server = place.start()
    call(place, cmd="begin", order=order(server.ref, set_flags={"--fake-start-s": ["0"]}))
    assert ended(place, "a1")["outcome"]["status"] == "ready"
    back = restored(place, server)["server"]
    path = run_folder(place) / "way_back.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "server": back, "argv": [*record["argv"], "--other"]}))
    for name in ("action-a1.json", "action-r1.json"):
        (run_folder(place) / name).write_text(
            json.dumps({**json.loads((run_folder(place) / name).read_text()), "launched": None})
        )
    answer = refused(place, cmd="begin", order=order(back, "a2"))
    assert "the arguments of pid" in answer
    assert is_alive(back["pid"])


def test_refuses_when_the_surroundings_could_not_come_back(place: Workplace) -> None:
    folder = place.root / "gone"
    folder.mkdir()
    server = place.start(preexec_fn=lambda: os.chdir(folder))
    folder.rmdir()
    assert "working directory" in refused(place, cmd="begin", order=order(server.ref))
    assert is_alive(server.pid)


def test_refuses_a_second_order_while_one_is_under_way(place: Workplace) -> None:
    gate = place.root / "gate"
    gate.touch()
    server = place.start("--fake-start-when", str(gate))
    gate.unlink()
    asked = order(server.ref)
    call(place, cmd="begin", order=asked)
    assert refused(place, cmd="begin", order={**asked, "action": "a2"}).startswith("busy: ")
    assert refused(place, cmd="restore", order=restore_order(server)).startswith("busy: ")
    assert refused(place, cmd="release", run="run1").startswith("busy: ")
    gate.touch()
    assert ended(place, "a1")["outcome"]["status"] == "ready"


def test_two_runs_do_not_meet_at_one_server(place: Workplace) -> None:
    gate = place.root / "gate"
    gate.touch()
    server = place.start("--fake-start-when", str(gate))
    gate.unlink()
    call(place, cmd="begin", order=order(server.ref))
    other = {**order(server.ref), "run": "run2"}
    answer = call(place, cmd="begin", order=other)
    assert answer["error"]["kind"] == "held"
    gate.touch()
    assert ended(place, "a1")["outcome"]["status"] == "ready"


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden", "x" * 90])
def test_names_cannot_leave_the_folder(place: Workplace, name: str) -> None:
    assert refused(place, cmd="state", run=name).startswith("bad-name: ")


def test_a_folder_that_others_may_write_is_not_trusted(place: Workplace) -> None:
    run_folder(place).mkdir(parents=True)
    run_folder(place).chmod(0o777)
    (run_folder(place) / "way_back.json").write_text("{}")
    assert call(place, cmd="state", run="run1")["way_back"] is False


def test_a_test_launch_of_another_run_is_not_taken_for_an_original(place: Workplace) -> None:
    server = place.start()
    launched = relaunch(place, server)["outcome"]["server"]
    os.kill(json.loads((run_folder(place) / "guard.json").read_text())["guard"]["pid"], signal.SIGKILL)
    other = {**order(launched), "run": "run2"}
    said = refused(place, cmd="begin", order=other)
    assert said == (
        "held: this server is a test launch of run run1, which has not put its own server back; "
        "put it back first: specdoctor investigate --resume run1"
    )
    assert is_alive(launched["pid"])
    assert restored(place, server)["status"] == "restored"


def test_a_server_that_another_run_put_back_may_be_restarted(place: Workplace) -> None:
    server = place.start()
    relaunch(place, server)
    back = restored(place, server)["server"]
    call(place, cmd="release", run="run1")
    call(place, cmd="begin", order={**order(back), "run": "run2"})
    path = run_folder(place).with_name("run2") / "action-a1.json"
    wait_for(lambda: path.exists() and json.loads(path.read_text())["outcome"])
    assert json.loads(path.read_text())["outcome"]["status"] == "ready"
