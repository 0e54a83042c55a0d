"""A practice host from its start to its end: what it refuses, what it leaves behind, and how hosts keep apart."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from specdoctor.cli.lab import practice_host
from specdoctor.lab import list_worlds, open_world, schema
from specdoctor.lab.boot import boot, with_port
from specdoctor.lab.dead_server import crash_lines
from specdoctor.lab.errors import LabError
from specdoctor.lab.host import PracticeHost
from specdoctor.lab.port_claims import PortClaims
from specdoctor.lab.world import Crash
from tests.lab.host_world import BASE, SPECULATION, eventually, lives, marked_processes, run_on, small_world, text_on


def test_it_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    host = PracticeHost(small_world(), state_dir=tmp_path / "host", time_scale=0.2).start()
    boot(host, wait_s=20)
    run_on(host, "nohup sleep 300 > /dev/null 2>&1 & setsid sleep 301 > /dev/null 2>&1 &")
    stranger = subprocess.Popen(["sleep", "302"])
    try:
        assert len(marked_processes(host.host_id)) == 5
        host.stop()
        assert marked_processes(host.host_id) == []
        assert stranger.poll() is None
        assert not (tmp_path / "host").exists()
    finally:
        stranger.kill()
        stranger.wait()


def test_a_folder_that_nobody_named_goes_with_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with practice_host(small_world()) as (host, _):
        assert host.state_dir.parent == tmp_path
    assert list(tmp_path.glob("specdoctor-lab-*")) == []


def test_a_process_without_the_mark_is_ended_when_it_is_known(tmp_path: Path) -> None:
    with PracticeHost(small_world(), state_dir=tmp_path / "host", time_scale=0.2) as host:
        path = f"{host.state_dir}/bin:/usr/bin:/bin"
        shown = text_on(
            host, f"env -i PATH={path} python3 -c 'import time; time.sleep(300)' > /dev/null 2>&1 & echo $!"
        )
        assert eventually((host.state_dir / "proc" / shown.strip()).exists)
    assert not lives(int(shown))


def test_a_kept_folder_can_be_used_again_with_the_same_keys(tmp_path: Path) -> None:
    first = PracticeHost(small_world(), state_dir=tmp_path / "host", keep=True).start()
    fingerprint = first.access.host_fingerprint
    first.stop()
    with PracticeHost(small_world(), state_dir=tmp_path / "host") as second:
        assert second.access.host_fingerprint == fingerprint
    assert not (tmp_path / "host").exists()


def test_what_a_killed_host_left_running_is_ended_by_the_next(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, sys; from tests.lab.host_world import *; from specdoctor.lab.boot import boot; "
        "host = PracticeHost(small_world(), state_dir=pathlib.Path(sys.argv[1]), time_scale=0.2).start(); "
        "print(boot(host, wait_s=20).pid, flush=True); os.kill(os.getpid(), 9)"
    )
    root = Path(__file__).resolve().parents[2]
    killed = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "host"], cwd=root, capture_output=True, check=False
    )
    left = int(killed.stdout)
    assert lives(left)
    with PracticeHost(small_world(), state_dir=tmp_path / "host"):
        assert not lives(left)
    assert not (tmp_path / "host").exists()


def test_stopping_twice_is_harmless(tmp_path: Path) -> None:
    host = PracticeHost(small_world(), state_dir=tmp_path / "host").start()
    host.stop()
    host.stop()


def test_a_folder_with_something_else_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("data")
    with pytest.raises(LabError, match="holds something else"):
        PracticeHost(small_world(), state_dir=tmp_path).start()
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_file_of_the_same_name_makes_no_folder_of_ours(tmp_path: Path) -> None:
    for content in ("{}", "not json", '{"id": 3, "boot": "x"}', "[]"):
        (tmp_path / "host.json").write_text(content)
        with pytest.raises(LabError, match="holds something else"):
            PracticeHost(small_world(), state_dir=tmp_path).start()
        assert [path.name for path in tmp_path.iterdir()] == ["host.json"]


def test_an_empty_folder_that_was_there_is_left_empty_and_not_removed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with PracticeHost(small_world(), state_dir=tmp_path / "mine"):
        assert any((tmp_path / "mine").iterdir())
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    with PracticeHost(small_world(), state_dir=tmp_path / "host") as host:
        with pytest.raises(LabError, match="another practice host"):
            PracticeHost(small_world(), state_dir=tmp_path / "host").start()
        assert run_on(host, "true").returncode == 0


def test_a_taken_ssh_port_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with PracticeHost(small_world(), state_dir=tmp_path / "one") as first:
        second = PracticeHost(small_world(), state_dir=tmp_path / "two", port=first.port)
        with pytest.raises(LabError, match=f"cannot listen on 127.0.0.1:{first.port}"):
            second.start()
    assert list(tmp_path.glob("specdoctor-lab-*")) == []


def test_hosts_on_one_computer_do_not_see_each_other(tmp_path: Path) -> None:
    first = PracticeHost(small_world(), state_dir=tmp_path / "one", time_scale=0.2)
    second = PracticeHost(small_world(), state_dir=tmp_path / "two", time_scale=0.2)
    with first, second:
        one, two = boot(first, wait_s=20), boot(second, wait_s=20)
        assert one.port != two.port
        listing = text_on(second, "ls $HOST_PROC").split()
        assert str(two.pid) in listing
        assert str(one.pid) not in listing
        memory = "nvidia-smi --query-compute-apps=pid --format=csv,noheader | wc -l"
        assert text_on(first, memory).strip() == text_on(second, memory).strip() == "2"
        first.stop()
        assert Path(f"/proc/{two.pid}").exists()


def test_a_server_that_is_down_has_left_its_log(tmp_path: Path) -> None:
    crash = {"kind": "cuda-oom", "ago_s": 100.0}
    history = [{"clients": 2, "seconds": 10.0, "ended_s_ago": 120.0, "max_new_tokens": 60}]
    world = small_world(server={"state": "down", "started_s_ago": 900, "crash": crash}, history=history)
    with PracticeHost(world, state_dir=tmp_path / "host") as host:
        booted = boot(host)
        log = booted.log.read_text()
        assert booted.pid is None
        assert marked_processes(host.host_id) == []
    assert (
        log.index("ready to roll") < log.index("Decode batch") < log.index("torch.OutOfMemoryError: CUDA out of memory")
    )
    assert log.rstrip().endswith("include_parent=True, pid=4121")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("illegal-memory-access", "an illegal memory access was encountered"),
        ("host-oom-kill", "crashed with exit code -9"),
        ("stopped", "SIGTERM received."),
    ],
)
def test_each_way_to_die_has_its_own_last_words(kind: Literal["host-oom-kill", "stopped"], words: str) -> None:
    text = "\n".join(crash_lines(small_world(), Crash(kind=kind), at_s=1_000_000.0))
    assert words in text
    assert text.startswith("[1970-01-12 13:46:40] ")


def test_a_start_that_failed_has_left_its_log(tmp_path: Path) -> None:
    flags = [word.replace("/draft", "/absent") for word in SPECULATION]
    world = small_world(argv=[*BASE, *flags], server={"state": "down", "started_s_ago": 900})
    with PracticeHost(world, state_dir=tmp_path / "host") as host:
        log = boot(host).log.read_text()
    assert "OSError: Repo id must be in the form" in log
    assert "ready to roll" not in log


def test_files_of_the_world_are_put_in_place(tmp_path: Path) -> None:
    files = {"{home}/notes/bench.txt": "91 tok/s\n", "/etc/motd": "hello\n"}
    data = small_world().host.model_dump() | {"files": files}
    world = small_world(host=data, server={"state": "down"})
    with PracticeHost(world, state_dir=tmp_path / "host") as host:
        boot(host)
        assert text_on(host, "cat notes/bench.txt") == "91 tok/s\n"
        assert (host.state_dir / "files/etc/motd").read_text() == "hello\n"


def test_live_traffic_keeps_the_server_busy(tmp_path: Path) -> None:
    world = small_world(live_traffic={"clients": 2, "max_new_tokens": 40, "think_s": 0.01})
    with PracticeHost(world, state_dir=tmp_path / "host", time_scale=0.5) as host:
        log = boot(host, wait_s=20).log
        assert eventually(lambda: log.read_text().count('"POST /generate HTTP/1.1" 200 OK') > 6)
        busy = "nvidia-smi -i 0 --query-gpu=utilization.gpu --format=csv,noheader,nounits"
        assert eventually(lambda: int(text_on(host, busy)) > 50)


def test_a_port_is_claimed_even_while_nobody_listens() -> None:
    one, other = PortClaims(), PortClaims()
    port = one.claim_any()
    try:
        assert one.claim(port)
        assert not other.claim(port)
        with pytest.raises(LabError, match=f"port {port} on 127.0.0.1 is in use"):
            with_port(["x"], other, wanted=port)
        words, chosen = with_port(["x", "--port", str(port), "y"], other, wanted=None)
        assert words == ["x", "--port", str(chosen), "y"]
        assert chosen != port
    finally:
        one.release()
    assert other.claim(port)
    assert with_port(["x"], other, wanted=port) == (["x", "--port", str(port)], port)
    other.release()


def test_worlds_can_be_listed_and_opened() -> None:
    assert all(open_world(name).name == name for name in list_worlds())
    assert "launch" in json.dumps(schema())


def test_importing_the_lab_is_cheap() -> None:
    python = shutil.which("python3")
    assert python is not None
    program = "import sys, specdoctor.lab.lab_state; print('pydantic' in sys.modules, 'asyncssh' in sys.modules)"
    root = str(Path(__file__).resolve().parents[2])
    result = subprocess.run(
        [os.path.realpath(python), "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert result.stdout == "False False\n"


def test_a_port_that_somebody_listens_on_is_not_claimed_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    claims = PortClaims()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not claims.claim(listener.getsockname()[1])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
