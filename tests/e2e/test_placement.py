"""A server's speed follows where it runs and where its memory lies."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from pathlib import Path

import pytest

from specdoctor.lab.boot import boot, launch, wait_ready
from specdoctor.lab.host import PracticeHost
from specdoctor.lab.lab_state import gpu_holdings
from specdoctor.lab.memory_policy import maps_text, policy_of, set_policy
from specdoctor.lab.physics import placed
from specdoctor.lab.world import World
from tests.lab.host_world import BASE, eventually, lives, small_world

PLACEMENT = {"cpus": "0-7", "memory": "bind:0", "other_cpus_factor": 3.0, "other_memory_factor": 2.0}
NUMACTL = ["numactl", "--cpunodebind=0", "--membind=0"]


def bound_world() -> World:
    physics = {**small_world().physics.model_dump(), "placement": PLACEMENT}
    physics["host"]["decode_ms"] = 4.0
    return small_world(argv=BASE, physics=physics, keeper={"kind": "plain", "wrappers": NUMACTL})


@pytest.mark.parametrize(
    ("cpus", "memory", "factor"),
    [("0-7", "bind:0", 1.0), ("0-15", "bind:0", 3.0), ("0-7", "default", 2.0), ("0-15", "default", 6.0)],
)
def test_other_cpus_and_other_memory_cost_host_time(cpus: str, memory: str, factor: float) -> None:
    assert placed(bound_world(), cpus=cpus, memory=memory).physics.host_factor == factor


def test_a_world_without_a_placement_does_not_care() -> None:
    assert placed(small_world(), cpus="3", memory="interleave:0-1").physics.host_factor == 1.0


def test_a_node_that_the_computer_does_not_have_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    pid = os.fork()
    if pid == 0:
        set_policy(tmp_path, "bind", {61})
        os._exit(0 if policy_of(tmp_path, os.getpid()) == "bind:61" else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert "bind:61" in maps_text("bind:61")


def seconds_for_tokens(port: int) -> float:
    body = {"text": "count", "sampling_params": {"max_new_tokens": 60, "ignore_eos": True, "temperature": 0}}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/generate", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    began = time.monotonic()
    with urllib.request.urlopen(request, timeout=60) as reply:
        reply.read()
    return time.monotonic() - began


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU cannot be divided into two nodes")
def test_a_server_started_without_its_wrapper_is_slower(tmp_path: Path) -> None:
    with PracticeHost(bound_world(), state_dir=tmp_path / "host") as host:
        booted = boot(host, wait_s=30)
        assert booted.pid is not None
        view = host.state_dir / "proc" / str(booted.pid)
        assert "Cpus_allowed_list:\t0-7\n" in (view / "status").read_text()
        assert " bind:0 " in (view / "numa_maps").read_text().splitlines()[0]
        bound = min(seconds_for_tokens(booted.port) for _ in range(2))
        argv = (view / "cmdline").read_text().split("\0")[:-1]
        os.kill(booted.pid, signal.SIGKILL)
        pid = booted.pid
        assert eventually(lambda: not lives(pid))
        assert eventually(lambda: not gpu_holdings(host.state_dir)), "its ranks hold memory until they have ended"
        fresh = launch(host, argv, env={}, log=booted.log)
        wait_ready(host, fresh, log=booted.log, timeout_s=30)
        assert min(seconds_for_tokens(booted.port) for _ in range(2)) > 2.0 * bound
