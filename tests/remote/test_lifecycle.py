"""Restarting and putting back real processes: the promises of the way back, one by one."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from specdoctor.operations.programs import program_text
from tests.remote.workplace import FakeServer, Workplace, children, is_alive, start_ticks, wait_for

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


def call(place: Workplace, **params: Any) -> dict[str, Any]:
    return place.run("lifecycle", params)


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
    assert os.getpriority(os.PRIO_PROCESS, pid) == 3
    assert Path(f"/proc/{pid}/oom_score_adj").read_text() == "77\n"


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
    first = call(place, cmd="begin", order=asked)
    second = call(place, cmd="begin", order=asked)
    assert first["outcome"] is None
    assert second["outcome"] is None
    state = ended(place, "a1")
    again = call(place, cmd="begin", order=asked)
    assert again["outcome"] == state["outcome"]
    assert is_alive(again["outcome"]["server"]["pid"])
    assert state["log"].count("Load weight begin") == 1


def test_killing_the_controller_in_the_middle_loses_nothing(place: Workplace) -> None:
    server = place.start("--fake-start-s", "0.5")
    text = program_text("lifecycle", {"cmd": "begin", "order": order(server.ref)}).encode()
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
        there = state["launched"] if phase == "starting" else state["phase"] == "stopping"
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


def server_ref(place: Workplace) -> dict[str, int]:
    record = json.loads((run_folder(place) / "way_back.json").read_text())
    found: dict[str, int] = record["server"]
    return found


def test_a_start_that_takes_too_long_is_stopped(place: Workplace) -> None:
    server = place.start()
    asked = order(server.ref, set_flags={"--fake-start-s": ["30"]})
    asked["ready_timeout_s"] = 1.0
    call(place, cmd="begin", order=asked)
    state = ended(place, "a1")
    assert state["outcome"]["status"] == "timeout"
    assert "loading weights" in state["outcome"]["reason"]
    assert not is_alive(state["launched"]["pid"])


def refused(place: Workplace, **params: Any) -> str:
    error = call(place, **params)["error"]
    return f"{error['kind']}: {error['message']}"


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
    server = place.start("--fake-start-s", "0.7")
    asked = order(server.ref)
    call(place, cmd="begin", order=asked)
    assert refused(place, cmd="begin", order={**asked, "action": "a2"}).startswith("busy: ")
    assert refused(place, cmd="restore", order=restore_order(server)).startswith("busy: ")
    assert refused(place, cmd="release", run="run1").startswith("busy: ")
    assert ended(place, "a1")["outcome"]["status"] == "ready"


def test_two_runs_do_not_meet_at_one_server(place: Workplace) -> None:
    server = place.start("--fake-start-s", "0.7")
    call(place, cmd="begin", order=order(server.ref))
    other = {**order(server.ref), "run": "run2"}
    answer = call(place, cmd="begin", order=other)
    assert answer["error"]["kind"] in ("busy", "not-the-server")
    assert ended(place, "a1")["outcome"]["status"] == "ready"


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


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden", "x" * 90])
def test_names_cannot_leave_the_folder(place: Workplace, name: str) -> None:
    assert refused(place, cmd="state", run=name).startswith("bad-name: ")


def test_a_folder_that_others_may_write_is_not_trusted(place: Workplace) -> None:
    run_folder(place).mkdir(parents=True)
    run_folder(place).chmod(0o777)
    (run_folder(place) / "way_back.json").write_text("{}")
    assert call(place, cmd="state", run="run1")["way_back"] is False


def test_the_guard_puts_back_when_nobody_is_in_touch(place: Workplace) -> None:
    server = place.start()
    call(place, cmd="begin", order=order(server.ref), guard_s=1.5)
    new = ended(place, "a1")["outcome"]["server"]
    wait_for(lambda: server.log.read_text().count("ready to roll") == 2)
    assert not is_alive(new["pid"])
    assert ended(place, "guard-a1")["outcome"]["status"] == "restored"
    assert restored(place, server)["status"] == "nothing-to-do"


def test_the_guard_keeps_still_while_somebody_is_in_touch(place: Workplace) -> None:
    server = place.start()
    call(place, cmd="begin", order=order(server.ref), guard_s=1.0)
    new = ended(place, "a1")["outcome"]["server"]
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        assert call(place, cmd="state", run="run1")["running"] == new
        time.sleep(0.2)
    assert restored(place, server)["status"] == "restored"
