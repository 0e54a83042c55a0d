"""Servers that somebody keeps: a container with a restart policy, and a service."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from specdoctor.lab.boot import Booted, boot
from specdoctor.lab.host import PracticeHost
from specdoctor.lab.keeper import read_record
from tests.lab.host_world import eventually, lives, marked_processes, run_on, small_world, text_on

INSPECT = "docker inspect --format '{{.Name}} {{.HostConfig.RestartPolicy.Name}} {{.Config.Image}} {{.State.Running}}'"


def kept_host(folder: Path, **host_changes: Any) -> PracticeHost:
    data = {**small_world().host.model_dump(), **host_changes}
    return PracticeHost(small_world(host=data), state_dir=folder, time_scale=0.1)


def container(policy: str) -> dict[str, Any]:
    return {"name": "sglang-prod", "image": "lmsysorg/sglang:v0.5.17", "restart_policy": policy}


def pid_of(booted: Booted) -> int:
    assert booted.pid is not None
    return booted.pid


def test_a_container_with_a_policy_comes_back(tmp_path: Path) -> None:
    with kept_host(tmp_path / "host", container=container("always")) as host:
        first = pid_of(boot(host, wait_s=20))
        cgroup = (host.state_dir / "proc" / str(first) / "cgroup").read_text()
        name = cgroup.split("docker-")[1].removesuffix(".scope\n")
        described = text_on(host, f"{INSPECT} {name}")
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: read_record(host.state_dir)["pid"] not in (None, first), within_s=10)
        assert len(name) == 64
        assert described == "/sglang-prod always lmsysorg/sglang:v0.5.17 true\n"
        assert text_on(host, "docker ps --format '{{.Names}} {{.Status}}'") == "sglang-prod Up\n"
        assert "ready to roll" in text_on(host, "docker logs --tail 5000 sglang-prod")
    assert marked_processes(host.host_id) == []


def test_a_stopped_container_stays_down_until_it_is_started(tmp_path: Path) -> None:
    with kept_host(tmp_path / "host", container=container("unless-stopped")) as host:
        first = pid_of(boot(host, wait_s=20))
        assert text_on(host, "docker stop sglang-prod") == "sglang-prod\n"
        assert not lives(first)
        assert text_on(host, f"{INSPECT} sglang-prod").endswith(" false\n")
        assert text_on(host, "docker ps -q").strip() == ""
        text_on(host, "docker start sglang-prod")
        assert eventually(lambda: read_record(host.state_dir)["pid"] is not None)


def test_a_container_without_a_policy_stays_dead(tmp_path: Path) -> None:
    with kept_host(tmp_path / "host", container=container("no")) as host:
        os.kill(pid_of(boot(host, wait_s=20)), signal.SIGKILL)
        assert eventually(lambda: read_record(host.state_dir)["wanted"] == "down")
        assert read_record(host.state_dir)["exit_code"] == -9


def test_a_service_is_kept_by_the_service_manager(tmp_path: Path) -> None:
    with kept_host(tmp_path / "host", service="systemd") as host:
        first = pid_of(boot(host, wait_s=20))
        shown = text_on(host, "systemctl show sglang.service --property=Id,Restart,FragmentPath,ActiveState,MainPID")
        assert shown.splitlines() == [
            "Id=sglang.service",
            "Restart=always",
            "FragmentPath=/etc/systemd/system/sglang.service",
            "ActiveState=active",
            f"MainPID={first}",
        ]
        assert (host.state_dir / "proc" / str(first) / "cgroup").read_text() == "0::/system.slice/sglang.service\n"
        assert "ready to roll" in text_on(host, "journalctl --no-pager --lines=20000 --unit=sglang.service")
        text_on(host, "systemctl restart sglang")
        assert eventually(lambda: read_record(host.state_dir)["pid"] not in (None, first))


def test_a_plain_host_keeps_nothing(tmp_path: Path) -> None:
    with kept_host(tmp_path / "host") as host:
        assert run_on(host, "docker inspect x").returncode != 0
        assert run_on(host, "systemctl status sglang").returncode != 0
        assert text_on(host, "docker ps").startswith("CONTAINER ID")
