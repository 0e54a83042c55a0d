"""The guard on the host: puts the original back when nobody is in touch, whatever was going on, and leaves no trace."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.remote.orders import (
    argv_of,
    call,
    ended,
    order,
    refused,
    relaunch,
    restore_order,
    restored,
    run_folder,
)
from tests.remote.workplace import FAKES, FakeServer, Workplace, children, is_alive, wait_for

GRACE_S = 0.6


def begin(place: Workplace, server: FakeServer, action: str = "a1", **changes: Any) -> dict[str, Any]:
    return call(place, cmd="begin", order=order(server.ref, action, **changes), grace_s=GRACE_S)


@contextmanager
def steered(place: Workplace, server: FakeServer, action: str = "a1", **changes: Any) -> Iterator[None]:
    """A launch is begun, and somebody is in touch until the end of the block; then nobody is."""
    ended_by = threading.Event()

    def stay() -> None:
        while not ended_by.wait(GRACE_S / 8):
            with suppress(OSError):
                os.utime(run_folder(place) / "contact")

    here = threading.Thread(target=stay)
    here.start()
    try:
        begin(place, server, action, **changes)
        yield
    finally:
        ended_by.set()
        here.join()


def story(place: Workplace) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run_folder(place) / "guard.json").read_text())
    return found


def after_the_guard(place: Workplace, limit_s: float = 30.0) -> dict[str, Any]:
    """The guard's story once it has come to an end and is gone."""
    wait_for(lambda: story(place)["result"] and not is_alive(story(place)["guard"]["pid"]), limit_s)
    return story(place)


def ready_count(server: FakeServer) -> int:
    return server.log.read_text().count("ready to roll")


def the_original(place: Workplace, server: FakeServer) -> int:
    """The process that now is the server, of which there is exactly one, with the original's words."""
    pids = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and in_place(each, place)]
    servers = [pid for pid in pids if "sglang.launch_server" in argv_of(pid)]
    assert [argv_of(pid) for pid in servers] == [server.argv]
    return servers[0]


def in_place(entry: Path, place: Workplace) -> bool:
    try:
        return (entry / "cwd").readlink() == place.root
    except OSError:
        return False


def shared_leases(port: int) -> list[Path]:
    return [p for base in ("/run/lock", "/dev/shm", "/tmp") for p in Path(base).glob(f"specdoctor-port-{port}-*")]


def test_a_guard_and_a_lease_lie_there_before_the_first_stop(place: Workplace) -> None:
    server = place.start("--fake-start-s", "0.2")
    call(place, cmd="begin", order=order(server.ref))
    guard = story(place)["guard"]["pid"]
    assert is_alive(guard)
    assert os.getsid(guard) not in (os.getsid(0), os.getsid(server.pid))
    assert [str(fd.readlink()) for fd in Path(f"/proc/{guard}/fd").iterdir()] == ["/dev/null"] * 3
    (lease,) = shared_leases(server.port)
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
    assert shared_leases(server.port) == []
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
    assert shared_leases(server.port) == []
    state = call(place, cmd="state", run="run1")
    assert state["guard"]["alive"] is False
    assert state["running_is_original"] is True
    assert call(place, cmd="release", run="run1")["removed"]


def test_it_keeps_still_while_somebody_is_in_touch(place: Workplace) -> None:
    server = place.start()
    with steered(place, server):
        new = ended(place, "a1")["outcome"]["server"]
        time.sleep(2.5 * GRACE_S)
        assert place.run("contact", {"run": "run1"})["phase"] == "watching"
        assert is_alive(new["pid"])
        call(place, cmd="restore", order=restore_order(server))
        ended(place, "r1")
    assert restored(place, server)["status"] == "restored"


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


def test_a_restore_that_is_under_way_is_left_to_end(place: Workplace) -> None:
    server = place.start("--fake-start-s", "1.5")
    with steered(place, server):
        ended(place, "a1")
        call(place, cmd="restore", order=restore_order(server))
    told = after_the_guard(place)
    assert told["phase"] == "nothing-to-do"
    assert ready_count(server) == 2, "started once by the restore that was under way, not again"
    the_original(place, server)


def test_it_takes_over_from_a_restore_whose_worker_was_lost(place: Workplace) -> None:
    server = place.start("--fake-start-s", "0.5")
    with steered(place, server):
        ended(place, "a1")
        call(place, cmd="restore", order=restore_order(server))
        path = run_folder(place) / "action-r1.json"
        wait_for(lambda: json.loads(path.read_text())["phase"] == "starting")
        os.kill(json.loads(path.read_text())["worker"]["pid"], signal.SIGKILL)
    assert after_the_guard(place)["phase"] in ("restored", "nothing-to-do")
    the_original(place, server)


def test_a_person_who_put_it_back_is_left_alone(place: Workplace) -> None:
    server = place.start("--fake-start-s", "1.0")
    surroundings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(FAKES), "HOME": str(place.root)}
    with steered(place, server), server.log.open("ab") as log:
        new = ended(place, "a1")["outcome"]["server"]
        os.kill(new["pid"], signal.SIGKILL)
        wait_for(lambda: not is_alive(new["pid"]))
        by_hand = subprocess.Popen(
            server.argv, cwd=place.root, env=surroundings, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    told = after_the_guard(place)
    assert told["phase"] == "nothing-to-do"
    assert "somebody else has started it again" in told["story"][1][1]
    assert the_original(place, server) == by_hand.pid
    by_hand.kill()
    by_hand.wait()


def test_a_port_that_somebody_took_is_left_to_them(place: Workplace) -> None:
    server = place.start()
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with steered(place, server):
            new = ended(place, "a1")["outcome"]["server"]
            os.kill(new["pid"], signal.SIGKILL)
            wait_for(lambda: not is_alive(new["pid"]))
            squatter.bind(("127.0.0.1", server.port))
            squatter.listen()
        told = after_the_guard(place)
    assert told["phase"] == "left-alone"
    assert str(os.getpid()) in told["reason"]


def test_an_original_that_does_not_come_up_is_tried_again_and_then_said_loudly(place: Workplace) -> None:
    flag = place.root / "broken"
    server = place.start("--fake-fail-if", str(flag))
    with steered(place, server):
        ended(place, "a1")
        flag.touch()
    told = after_the_guard(place)
    assert told["phase"] == "failed"
    assert sum("did not come up" in text for _, text in told["story"]) == 3
    assert told["story"][-1][1].startswith("GIVEN UP: the original is not back")
    assert "ValueError" in told["log"]
    flag.unlink()
    assert restored(place, server)["status"] == "restored"


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


def test_after_the_guard_acted_nothing_is_begun_before_that_was_seen(place: Workplace) -> None:
    server = place.start()
    with steered(place, server):
        ended(place, "a1")
    seen = after_the_guard(place)["acted_at"]
    now = call(place, cmd="state", run="run1")["running"]
    assert refused(place, cmd="begin", order=order(now, "a2")).startswith("guard-acted: ")
    call(place, cmd="begin", order=order(now, "a2"), guard_seen=seen)
    assert ended(place, "a2")["outcome"]["status"] == "ready"
    assert is_alive(story(place)["guard"]["pid"])
    assert story(place)["before"][0]["acted_at"] == seen
    assert restored(place, server)["status"] == "restored"
    call(place, cmd="release", run="run1")


def test_a_guard_that_was_lost_is_replaced_at_the_next_word(place: Workplace) -> None:
    server = place.start()
    call(place, cmd="begin", order=order(server.ref))
    first = story(place)["guard"]["pid"]
    os.kill(first, signal.SIGKILL)
    ended(place, "a1")
    wait_for(lambda: not is_alive(first))
    assert call(place, cmd="state", run="run1")["guard"]["alive"] is True
    assert story(place)["guard"]["pid"] != first
    assert restored(place, server)["status"] == "restored"
    call(place, cmd="release", run="run1")


def test_leases_of_others_are_data(place: Workplace) -> None:
    server = place.start()
    hostile = {"run": "\x1b[2J", "port": server.port, "who": "x" * 5000, "since": 1e999, "grace_s": 1}
    path = Path(f"/dev/shm/specdoctor-port-{server.port}-user-{os.getuid()}.lease")
    for content in ("", "[]", "{", json.dumps(hostile), json.dumps({**hostile, "since": 1, "guard": {}})):
        path.write_text(content)
        state = relaunch(place, server) if content == "" else call(place, cmd="state", run="run1")
        assert "error" not in state
    path.unlink(missing_ok=True)
    assert restored(place, server)["status"] == "restored"
    call(place, cmd="release", run="run1")
