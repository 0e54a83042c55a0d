"""Somebody else starts the server, or takes its port, while a run restarts it: told, left alone, never called ours."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.remote.guards import ready_count
from tests.remote.orders import call, ended, order, refused, relaunch, restore_order, restored, run_folder
from tests.remote.workplace import FAKES, FakeServer, Workplace, is_alive, wait_for

pytestmark = pytest.mark.slow


@contextmanager
def second_start(place: Workplace, server: FakeServer) -> Iterator[subprocess.Popen[bytes]]:
    """The same words started by somebody else, with a log of its own as a supervisor's are."""
    surroundings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(FAKES), "HOME": str(place.root)}
    with server.log.open("ab") as log:
        process = subprocess.Popen(
            server.argv, cwd=place.root, env=surroundings, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def gated(place: Workplace) -> tuple[FakeServer, Path]:
    """A server that comes up while a file is there."""
    gate = place.root / "gate"
    gate.touch()
    return place.start("--fake-start-when", str(gate)), gate


AT_ONCE = {"set_flags": {"--fake-start-when": ["/"]}}


def test_a_launch_gives_way_to_a_second_start_and_so_does_putting_back(place: Workplace) -> None:
    server, gate = gated(place)
    original = server.ref
    gate.unlink()
    call(place, cmd="begin", order=order(original))
    wait_for(lambda: json.loads((run_folder(place) / "action-a1.json").read_text())["let_go"])
    with second_start(place, server) as other:
        outcome = ended(place, "a1")["outcome"]
        assert outcome["status"] == "undone"
        assert (outcome["other"]["pid"], outcome["other"]["same"]) == (other.pid, True)
        assert f"somebody else has started the server too, as process {other.pid} (" in outcome["reason"]
        assert f"below process {os.getpid()}, " in outcome["reason"]
        again = refused(place, cmd="begin", order=order(original, "a2"))
        assert again.startswith("other-start: somebody else has started the server too")
        call(place, cmd="restore", order=restore_order(server))
        gate.touch()
        back = ended(place, "r1")["outcome"]
        assert back["status"] == "nothing-to-do"
        assert (back["server"]["pid"], back["other"]["pid"]) == (other.pid, other.pid)
        assert (back["other"]["alive"], back["other"]["ours_alive"]) == (True, False)
        assert back["equal"]["argv"] is True
        assert other.poll() is None
        assert ready_count(server) == 2, "the one that was found and the other's: none of ours beside it"
        assert call(place, cmd="release", run="run1")["removed"]


def test_a_second_start_that_comes_to_nothing_is_told_where_the_original_is_back(place: Workplace) -> None:
    server, gate = gated(place)
    assert relaunch(place, server, **AT_ONCE)["outcome"]["status"] == "ready"
    gate.unlink()
    with second_start(place, server) as other:
        told = wait_for(lambda: call(place, cmd="state", run="run1")["other"])
        assert told["pid"] == other.pid
        gate.touch()
        wait_for(lambda: other.poll() is not None)  # the port is not free
        outcome = restored(place, server)
    assert outcome["status"] == "restored"
    assert set(outcome["equal"].values()) == {True}
    assert (outcome["other"]["pid"], outcome["other"]["same"]) == (other.pid, True)
    assert (outcome["other"]["alive"], outcome["other"]["ours_alive"]) == (False, True)


def test_its_guard_sees_a_second_start_that_nobody_asks_about(place: Workplace) -> None:
    server, gate = gated(place)
    assert relaunch(place, server, **AT_ONCE)["outcome"]["status"] == "ready"
    gate.unlink()
    with second_start(place, server):
        wait_for((run_folder(place) / "other.json").exists, 60.0)
    gate.touch()
    assert restored(place, server)["other"]["same"] is True


def test_a_server_with_the_same_words_of_before_is_no_second_start(place: Workplace) -> None:
    server, gate = gated(place)
    gate.unlink()
    with second_start(place, server):
        wait_for(lambda: server.log.read_text().count("Load weight begin") == 2)
        outcome = relaunch(place, server, **AT_ONCE)["outcome"]
        assert (outcome["status"], outcome["other"]) == ("ready", None)
        assert call(place, cmd="state", run="run1")["other"] is None


def test_a_stranger_who_takes_the_port_is_named_and_left_alone(place: Workplace) -> None:
    server, gate = gated(place)
    gate.unlink()
    call(place, cmd="begin", order=order(server.ref) | {"release_timeout_s": 300.0})
    wait_for(lambda: not is_alive(server.pid))
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind(("127.0.0.1", server.port))
        stranger.listen()
        outcome = ended(place, "a1")["outcome"]
        assert outcome["status"] == "undone"
        assert f"port {server.port} was taken by process {os.getpid()} (" in outcome["reason"]
        assert "which is left alone" in outcome["reason"]
        assert (outcome["other"]["pid"], outcome["other"]["same"]) == (os.getpid(), False)
        gate.touch()
        assert refused(place, cmd="restore", order=restore_order(server)).startswith("port-taken: ")
    outcome = restored(place, server, "r2")
    assert outcome["status"] == "restored"
    assert outcome["other"]["same"] is False


def test_who_listens_on_the_same_port_of_another_address_is_in_nobodys_way(place: Workplace) -> None:
    server = place.start()
    with socket.create_server(("127.0.0.2", server.port)):
        assert relaunch(place, server)["outcome"]["status"] == "ready"
        back = restored(place, server)
        assert (back["status"], back.get("other")) == ("restored", None)
        assert all(back["equal"].values())
