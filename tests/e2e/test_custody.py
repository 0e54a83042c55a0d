"""Whoever looks sees what runs have left, and can put a server back without the run that changed it."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdoctor.core.errors import PolicyError, TargetError
from specdoctor.operations.custody import Custody
from specdoctor.operations.remote import RemoteOperations
from specdoctor.transports.local import LocalHost
from tests.e2e.test_remote_operations import Clock, launch
from tests.remote.workplace import PYTHON, Workplace, is_alive, opened, wait_for


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    monkeypatch.setenv("HOME", str(tmp_path))
    yield from opened(tmp_path)


@pytest.fixture
def custody() -> Custody:
    return Custody(LocalHost(), clock=Clock(), interpreter=PYTHON, target="eagle-a")


def steering(grace_s: float) -> RemoteOperations:
    return RemoteOperations(
        LocalHost(), clock=Clock(), interpreter=PYTHON, target="eagle-a", who="ml@laptop", grace_s=grace_s
    )


def test_a_run_at_work_is_told_and_not_disturbed(place: Workplace, custody: Custody) -> None:
    assert custody.look().runs == ()
    server = place.start()
    operations = steering(60.0)
    launched = operations.relaunch(launch(server), lambda progress: None).server
    found = custody.look()
    left = found.of("run1")
    assert left is not None
    assert left.standing == "steered"
    assert (left.who, left.port, left.running, left.running_is_original) == ("ml@laptop", server.port, launched, False)
    assert "way_back.json" in left.files
    assert [(lease.run, lease.who) for lease in found.leases if lease.port == server.port] == [("run1", "ml@laptop")]
    with pytest.raises(PolicyError, match="run run1 is steered by ml@laptop"):
        custody.restore(None, lambda progress: None)
    operations.close()


def test_a_server_is_put_back_by_hand_when_its_guard_is_gone_too(place: Workplace, custody: Custody) -> None:
    server = place.start("--api-key", "k3y-Very-Private")
    operations = steering(60.0)
    launched = operations.relaunch(launch(server), lambda progress: None).server
    operations.close()
    assert launched is not None
    guard = next(lease.guard.pid for lease in custody.look().leases if lease.port == server.port)
    os.kill(guard, signal.SIGKILL)
    wait_for(lambda: not is_alive(guard))
    left = custody.look().of("run1")
    assert left is not None
    assert left.standing == "changed"
    assert "k3y-Very-Private" not in left.model_dump_json()
    assert "ready to roll" in left.log
    run, outcome = custody.restore(None, lambda progress: None)
    assert (run, outcome.status, outcome.proved) == ("run1", "restored", True)
    assert not is_alive(launched.pid)
    assert any("way_back.json" in path for path in custody.release(run))
    assert custody.look().runs == ()
    with pytest.raises(TargetError, match="no run has left a way back here"):
        custody.restore(None, lambda progress: None)


def test_a_run_that_told_of_its_end_is_put_back_at_once_also_after_a_try_in_vain(
    place: Workplace, custody: Custody
) -> None:
    server = place.start()
    operations = steering(60.0)
    launched = operations.relaunch(launch(server), lambda progress: None).server
    acts_in_s = operations.leave("run1", exit_code=5, words="the original did not come up")
    assert acts_in_s is not None
    operations.close()
    left = custody.look().of("run1")
    assert left is not None
    assert left.ended is not None
    assert (left.ended.exit_code, left.ended.words, left.standing) == (5, "the original did not come up", "changed")
    assert launched is not None
    os.kill(launched.pid, signal.SIGKILL)
    wait_for(lambda: not is_alive(launched.pid))
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        wait_for(lambda: stranger.connect_ex(("127.0.0.1", server.port)))
    with socket.create_server(("127.0.0.1", server.port)):
        assert not custody.restore("run1", lambda progress: None)[1].proved
    left = custody.look().of("run1")
    assert left is not None
    assert left.ended is not None
    assert left.ended.words.startswith("putting it back by hand: ")
    assert left.guard is not None
    assert left.guard.alive
    assert custody.restore("run1", lambda progress: None)[1].proved
    assert custody.release("run1")


def test_the_story_of_the_guard_is_told(place: Workplace, custody: Custody) -> None:
    server = place.start()
    operations = steering(1.0)
    operations.relaunch(launch(server), lambda progress: None)
    operations.close()

    def over() -> bool:
        left = custody.look().of("run1")
        return left is not None and left.standing == "as found"

    wait_for(over, 30.0)
    left = custody.look().of("run1")
    assert left is not None
    assert left.guard is not None
    assert left.guard.phase == "restored"
    assert [text.partition(" ")[0] for _, text in left.guard.story] == ["nobody", "the"]
    assert custody.restore("run1", lambda progress: None)[1].status == "nothing-to-do"
    assert custody.release("run1")
