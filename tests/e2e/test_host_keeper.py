"""Servers that somebody keeps: a container with a restart policy, and a service."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from specdoctor.lab.boot import Booted, boot
from specdoctor.lab.host import PracticeHost
from tests.lab.host_world import eventually, lives, marked_processes, run_on, small_world, text_on

IMAGE = "lmsysorg/sglang:v0.5.17"


def kept_host(folder: Path, **keeper: Any) -> PracticeHost:
    changes = {"keeper": keeper} if keeper else {}
    return PracticeHost(small_world(**changes), state_dir=folder, time_scale=0.1)


def container(folder: Path, **more: Any) -> PracticeHost:
    return kept_host(folder, **{"kind": "docker", "name": "sglang-prod", "image": IMAGE, **more})


def pid_of(booted: Booted) -> int:
    assert booted.pid is not None
    return booted.pid


def main_pid(host: PracticeHost, name: str = "sglang-prod") -> int:
    return int(text_on(host, f"docker inspect --format '{{{{.State.Pid}}}}' {name}"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    facts = {"ulimits": {"memlock": "-1"}, "cap_add": ["SYS_NICE"], "labels": {"team": "infer"}}
    with container(tmp_path_factory.mktemp("shared") / "host", **facts) as host:
        boot(host, wait_s=20)
        yield host


def test_a_container_with_a_policy_comes_back(tmp_path: Path) -> None:
    with container(tmp_path / "host", restart_policy="always", start_s=0.2) as host:
        first = pid_of(boot(host, wait_s=20))
        proc = host.state_dir / "proc" / str(first)
        identity = (proc / "cgroup").read_text().split("docker-")[1].removesuffix(".scope\n")
        form = "{{.Name}} {{.HostConfig.RestartPolicy.Name}} {{.Config.Image}} {{.State.Running}}"
        described = text_on(host, f"docker inspect --format '{form}' {identity}")
        parent = (proc / "stat").read_text().split(") ")[1].split()[1]
        shim = (host.state_dir / "proc" / parent / "cmdline").read_text().split("\0")
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: main_pid(host) not in (0, first), within_s=10)
        assert len(identity) == 64
        assert described == f"/sglang-prod always {IMAGE} true\n"
        assert shim[:4] == ["/usr/bin/containerd-shim-runc-v2", "-namespace", "moby", "-id"]
        assert (proc / "ns/pid").readlink() != Path("/proc/self/ns/pid").readlink() if proc.exists() else True
        assert text_on(host, "docker ps --format '{{.Names}} {{.State}}'") == "sglang-prod running\n"
        assert "ready to roll" in run_on(host, "docker logs --tail 5000 sglang-prod").stderr.decode()
    assert marked_processes(host.host_id) == []


def test_a_sibling_is_made_from_what_inspect_says(shared: PracticeHost) -> None:
    document = json.loads(text_on(shared, "docker inspect sglang-prod"))[0]
    words = " ".join(f"'{word}'" for word in document["Config"]["Cmd"])
    text_on(shared, "docker stop -t 5 sglang-prod")
    made = "docker create --name test --shm-size 32g --ulimit memlock=-1 --cap-add SYS_NICE --label team=infer "
    options = "--network host --ipc host --gpus all " + " ".join(f"-e '{each}'" for each in document["Config"]["Env"])
    text_on(shared, f"{made}{options} {document['Image']} {words} --max-running-requests 7")
    sibling = json.loads(text_on(shared, "docker inspect test"))[0]
    text_on(shared, "docker start test")
    assert eventually(lambda: b"ready to roll" in run_on(shared, "docker logs test").stderr, within_s=20)
    taken = run_on(shared, "docker rm test")
    text_on(shared, "docker rm -f test && docker start sglang-prod")
    for part in ("ShmSize", "Ulimits", "CapAdd", "IpcMode", "NetworkMode", "DeviceRequests"):
        assert sibling["HostConfig"][part] == document["HostConfig"][part], part
    assert sibling["Config"]["Env"] == document["Config"]["Env"]
    assert sibling["Config"]["Cmd"] == [*document["Config"]["Cmd"], "--max-running-requests", "7"]
    assert (taken.returncode, b"container is running" in taken.stderr) == (1, True)


@pytest.mark.parametrize(("policy", "ends"), [("--restart unless-stopped", "exited"), ("--rm", None), ("", "exited")])
def test_a_stopped_container_stays_down(shared: PracticeHost, policy: str, ends: str | None) -> None:
    text_on(shared, f"docker run -d --name idle {policy} {IMAGE} sleep 300")
    first = main_pid(shared, "idle")
    assert text_on(shared, "docker stop -t 2 idle") == "idle\n"
    assert not lives(first)
    told = run_on(shared, "docker inspect -f '{{.State.Status}} {{.State.ExitCode}}' idle")
    if ends is None:
        assert (told.returncode, told.stderr) == (1, b"Error: No such object: idle\n")
        return
    assert told.stdout.decode() == f"{ends} 143\n"
    text_on(shared, "docker start idle")
    assert main_pid(shared, "idle") not in (0, first)
    text_on(shared, "docker rm -f idle")


def test_a_container_without_a_policy_stays_dead(shared: PracticeHost) -> None:
    text_on(shared, f"docker run -d --name idle {IMAGE} sleep 300")
    os.kill(main_pid(shared, "idle"), signal.SIGKILL)
    assert text_on(shared, "docker wait idle") == "137\n"
    text_on(shared, "docker rm idle")


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("docker ps --foo", 125, "unknown flag: --foo\n\nUsage:  docker ps [OPTIONS]\n"),
        ("docker stop -x a", 125, "unknown shorthand flag: 'x' in -x"),
        ("docker stop", 1, "docker: 'docker stop' requires at least 1 argument\n"),
        ("docker logs --tail", 125, "flag needs an argument: --tail"),
        ("docker foo", 1, "docker: unknown command: docker foo"),
        ("docker stop nobody", 1, "Error response from daemon: No such container: nobody"),
        ("docker create --rm --restart always x", 125, "conflicting options: cannot specify both --restart and --rm"),
        ("docker create no/such:image", 1, "Unable to find image 'no/such:image' locally"),
        ("docker run no/such:image", 125, "docker: Error response from daemon: pull access denied for no/such"),
        ("docker exec sglang-prod no-such-program", 127, "OCI runtime exec failed"),
        ("docker ps --format '{{.Foo'", 1, "template: :1: unclosed action"),
        ("docker create --name sglang-prod " + IMAGE, 1, "Conflict. The container name"),
    ],
)
def test_docker_refuses_as_docker_does(shared: PracticeHost, command: str, code: int, words: str) -> None:
    result = run_on(shared, command)
    assert result.returncode == code
    assert words in result.stderr.decode()


def test_exec_runs_inside(shared: PracticeHost) -> None:
    assert text_on(shared, "echo hello | docker exec -i sglang-prod cat") == "hello\n"
    assert text_on(shared, "docker exec -e A=b sglang-prod sh -c 'echo $A $HOSTNAME'").startswith("b ")
    assert run_on(shared, "docker exec sglang-prod sh -c 'exit 7'").returncode == 7


def test_a_plain_host_keeps_nothing(tmp_path: Path) -> None:
    with kept_host(tmp_path / "host") as host:
        assert run_on(host, "docker inspect x").returncode == 1
        assert run_on(host, "systemctl status sglang").returncode == 4
        assert text_on(host, "docker ps").startswith("CONTAINER ID")
