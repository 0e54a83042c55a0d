"""The guard on the host: puts the original back when nobody is in touch, whatever was going on, and leaves no trace."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.remote.guards import (
    GRACE_S,
    after_the_guard,
    shared_leases,
    steered,
    story,
    the_original,
)
from tests.remote.orders import (
    call,
    ended,
    order,
    refused,
    relaunch,
    restored,
    run_folder,
)
from tests.remote.workplace import Workplace, children, is_alive, wait_for

pytestmark = pytest.mark.thorough


def test_a_guard_and_a_lease_lie_there_before_the_first_stop(place: Workplace) -> None:
    server = place.start("--fake-start-s", "0.20000000000001")
    call(place, cmd="begin", order=order(server.ref))
    guard = story(place)["guard"]["pid"]
    assert is_alive(guard)
    assert os.getsid(guard) not in (os.getsid(0), os.getsid(server.pid))
    assert [str(fd.readlink()) for fd in Path(f"/proc/{guard}/fd").iterdir()] == ["/dev/null"] * 3
    (lease,) = shared_leases(place, server.port)
    assert lease.stat().st_mode & 0o777 == 0o644
    assert json.loads(lease.read_text())["who"] == "ml@laptop"
    assert server.argv[-1] not in lease.read_text().replace(str(server.port), "")
    os.kill(guard, signal.SIGHUP)
    os.kill(guard, signal.SIGTERM)
    ended(place, "a1")
    assert is_alive(guard)
    assert restored(place, server)["status"] == "restored"
    removed = call(place, cmd="release", run="run1")["removed"]
    assert str(lease) in removed
    assert not is_alive(guard)
    assert shared_leases(place, server.port) == []
    assert not run_folder(place).exists()


def test_it_puts_back_when_nobody_is_in_touch(place: Workplace) -> None:
    server = place.start()
    with steered(place, server):
        new = ended(place, "a1")["outcome"]["server"]
    told = after_the_guard(place)
    assert (told["phase"], told["outcome"]["status"]) == ("restored", "restored")
    assert set(told["outcome"]["equal"].values()) == {True}
    assert "ready to roll" in told["log"]
    assert not is_alive(new["pid"])
    pid = the_original(place, server)
    ignored = Path(f"/proc/{pid}/status").read_text().split("SigIgn:\t")[1].split()[0]
    assert ignored == Path(f"/proc/{children(pid)[0]}/status").read_text().split("SigIgn:\t")[1].split()[0]
    assert not int(ignored, 16) & 0b100000000000011, "it can be hung up, interrupted and ended as before"
    assert restored(place, server)["status"] == "nothing-to-do"
    assert shared_leases(place, server.port) == []
    state = call(place, cmd="state", run="run1")
    assert state["guard"]["alive"] is False
    assert state["running_is_original"] is True
    assert call(place, cmd="release", run="run1")["removed"]


def test_it_ends_a_launch_that_hangs(place: Workplace) -> None:
    server = place.start()
    with steered(place, server, set_flags={"--fake-start-s": ["600"]}):
        wait_for(lambda: not is_alive(server.pid))
    told = after_the_guard(place)
    assert told["phase"] == "restored", told["story"]
    the_original(place, server)
    again = call(place, cmd="begin", order=order(server.ref, "a1"), grace_s=GRACE_S)
    assert again["outcome"]["status"] == "undone"
    the_original(place, server)


def test_one_lease_for_a_server(place: Workplace) -> None:
    server = place.start()
    assert relaunch(place, server)["outcome"]["status"] == "ready"
    other = dict(order(server.ref, "b1"), run="run2")
    said = refused(place, cmd="begin", order=other)
    assert said.startswith("held: ")
    assert restored(place, server)["status"] == "restored"
    now = call(place, cmd="state", run="run1")["running"]
    said = refused(place, cmd="begin", order=dict(order(now, "b1"), run="run2"))
    assert "is held by specdoctor's run run1 of ml@laptop" in said
    call(place, cmd="release", run="run1")


def test_leases_of_others_are_data(place: Workplace) -> None:
    server = place.start()
    hostile = {"run": "\x1b[2J", "port": server.port, "who": "x" * 5000, "since": 1e999, "grace_s": 1}
    path = place.leases / f"specdoctor-port-{server.port}-user-{os.getuid()}.lease"
    place.leases.mkdir()
    for content in ("", "[]", "{", json.dumps(hostile), json.dumps({**hostile, "since": 1, "guard": {}})):
        path.write_text(content)
        state = relaunch(place, server) if content == "" else call(place, cmd="state", run="run1")
        assert "error" not in state
    path.unlink(missing_ok=True)
    assert restored(place, server)["status"] == "restored"
    call(place, cmd="release", run="run1")
