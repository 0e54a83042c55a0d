"""Putting a real server back exactly as it was, and leaving nothing behind."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.remote.orders import (
    argv_of,
    call,
    ended,
    refused,
    relaunch,
    restore_order,
    restored,
    run_folder,
)
from tests.remote.workplace import Workplace, children, is_alive, start_ticks, wait_for

pytestmark = pytest.mark.thorough


def test_starts_changed_and_puts_back(place: Workplace) -> None:
    server = place.start("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "1")
    worker = children(server.pid)[0]
    change = {"set_flags": {"--speculative-num-steps": ["3"]}, "set_env": {"EXTRA": "1"}}

    state = relaunch(place, server, **change)

    outcome = state["outcome"]
    assert outcome["status"] == "ready"
    assert not is_alive(server.pid)
    assert not is_alive(worker)
    new = outcome["server"]
    assert new["port"] == server.port
    assert new["start_ticks"] == start_ticks(new["pid"])
    assert argv_of(new["pid"]) == [*server.argv[:-1], "3"] == state["argv"]
    assert b"EXTRA=1\0" in Path(f"/proc/{new['pid']}/environ").read_bytes()
    assert list(state["phases"]) == ["loading weights", "weights loaded", "ready"]
    assert "ready to roll" in state["log"]
    assert outcome["downtime_s"] >= outcome["start_s"] > 0
    assert "Load weight" not in server.log.read_text().split("ready to roll", 1)[1], "the test has a log of its own"

    outcome = restored(place, server)

    assert outcome["status"] == "restored"
    assert set(outcome["equal"].values()) == {True}
    assert {"argv", "env", "cwd", "affinity", "limits", "nice", "umask", "stdout", "stderr"} <= set(outcome["equal"])
    assert not is_alive(new["pid"])
    assert argv_of(outcome["server"]["pid"]) == server.argv
    assert server.log.read_text().count("ready to roll") == 2, "appended to the original log"


def unusual() -> None:
    """Surroundings that are no default: all of them must come back."""
    os.umask(0o027)
    os.nice(3)
    os.sched_setaffinity(0, {1})
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, 1024))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    Path("/proc/self/oom_score_adj").write_text("77")


def test_unusual_surroundings_come_back_whole(place: Workplace) -> None:
    odd = os.fsdecode(b"caf\xe9 \xc3\xa9\n'\"$(x)")
    server = place.start("--fake-odd", odd, "", "--last=", preexec_fn=unusual, env={"ODD": odd, "EMPTY": ""})
    before = {name: Path(f"/proc/{server.pid}/{name}").read_bytes() for name in ("cmdline", "environ", "limits")}
    assert relaunch(place, server)["outcome"]["status"] == "ready"

    outcome = restored(place, server)

    assert outcome["differences"].keys() <= {"cgroup"}
    assert set(outcome["equal"].values()) == {True}
    pid = outcome["server"]["pid"]
    for name, content in before.items():
        assert Path(f"/proc/{pid}/{name}").read_bytes() == content, name
    status = Path(f"/proc/{pid}/status").read_text()
    assert "Umask:\t0027" in status
    assert "Cpus_allowed_list:\t1\n" in status
    assert int(status.split("SigIgn:\t")[1].split()[0], 16) & 1, "SIGHUP is ignored as before"
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(os.getpriority(os.PRIO_PROCESS, 0) + 3, 19)
    assert Path(f"/proc/{pid}/oom_score_adj").read_text() == "77\n"


def test_refuses_to_restore_onto_a_port_that_somebody_took(place: Workplace) -> None:
    server = place.start()
    state = relaunch(place, server)
    os.kill(state["launched"]["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(state["launched"]["pid"]))
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", server.port))
        squatter.listen()
        answer = refused(place, cmd="restore", order=restore_order(server))
    assert answer.startswith("port-taken: ")
    assert str(os.getpid()) in answer
    assert restored(place, server, "r2")["status"] == "restored"


def test_nothing_to_restore_is_said_with_the_comparison(place: Workplace) -> None:
    server = place.start()
    assert restored(place, server)["status"] == "nothing-to-do"
    assert relaunch(place, server)["outcome"]["status"] == "ready"
    assert restored(place, server, "r1")["status"] == "restored"
    again = restored(place, server, "r2")
    assert again["status"] == "nothing-to-do"
    assert again["equal"]["argv"] is True
    assert set(again["equal"].values()) == {True}


def test_a_server_put_back_by_hand_counts(place: Workplace) -> None:
    server = place.start()
    state = relaunch(place, server)
    os.kill(state["launched"]["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(state["launched"]["pid"]))
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parent / "fakes"),
        "HOME": str(place.root),
    }
    with server.log.open("ab") as log:
        by_hand = subprocess.Popen(
            server.argv, cwd=place.root, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    wait_for(lambda: server.log.read_text().count("ready to roll") == 2)
    assert call(place, cmd="state", run="run1")["running_is_original"] is True
    outcome = restored(place, server)
    assert outcome["status"] == "nothing-to-do"
    assert outcome["server"]["pid"] == by_hand.pid
    assert call(place, cmd="release", run="run1")["removed"]
    by_hand.kill()
    by_hand.wait()


def test_what_cannot_be_opened_again_is_said(place: Workplace) -> None:
    reader, writer = os.pipe()
    server = place.start(ready=False, stdout=writer)
    os.close(writer)
    wait_for(lambda: place_listens(server.port))
    assert relaunch(place, server)["outcome"]["status"] == "ready"
    outcome = restored(place, server)
    os.close(reader)
    assert outcome["status"] == "restored"
    assert outcome["equal"]["stdout"] is False
    assert outcome["equal"]["argv"] is True
    assert "pipe:" in outcome["differences"]["stdout"]
    log = outcome["differences"]["stdout"].rpartition(" ")[2]
    assert "ready to roll" in Path(log).read_text()


def place_listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_release_is_refused_before_the_restoration_and_leaves_nothing_after_it(place: Workplace) -> None:
    server = place.start()
    before = sorted(place.root.rglob("*"))
    assert relaunch(place, server)["outcome"]["status"] == "ready"
    assert refused(place, cmd="release", run="run1").startswith("not-restored: ")
    assert restored(place, server)["status"] == "restored"

    removed = call(place, cmd="release", run="run1")["removed"]

    assert str(run_folder(place)) in removed
    assert sorted(place.root.rglob("*")) == before
    assert call(place, cmd="release", run="run1")["removed"] == []
    assert call(place, cmd="state", run="run1")["way_back"] is False


def test_state_tells_what_runs(place: Workplace) -> None:
    server = place.start()
    assert call(place, cmd="state", run="run1") == {
        "run": "run1", "way_back": False, "actions": {}, "detail": {}
    }  # fmt: skip
    new = relaunch(place, server)["outcome"]["server"]
    found = call(place, cmd="state", run="run1")
    assert found["way_back"] is True
    assert found["running"] == new
    assert found["running_launch"] == "a1"
    assert found["running_is_original"] is False
    assert found["actions"] == {"a1": "ready"}


def test_nothing_secret_is_told(place: Workplace) -> None:
    key = "k3y-Very-Private"
    server = place.start("--api-key", key, env={"HF_TOKEN": "tok-12345678"})
    state = relaunch(place, server, set_env={"HF_TOKEN": "other"})
    back = restored(place, server)
    told = json.dumps([state, back, ended(place, "r1"), call(place, cmd="state", run="run1")])
    assert key not in told
    assert "tok-12345678" not in told
    assert "api_key='***'" in told
