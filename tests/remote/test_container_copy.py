"""Options that make a container like another one: nothing is lost without being named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.remote.workplace import loaded

ID = "ab12" * 16
driver = loaded("parts.driver_container")
HOST: dict[str, Any] = {
    "Binds": ["/srv/models:/models:ro", "cache:/root/.cache"],
    "Mounts": [{"Type": "bind", "Source": "/data", "Target": "/data", "ReadOnly": True}],
    "NetworkMode": "host",
    "PortBindings": {},
    "RestartPolicy": {"Name": "always"},
    "AutoRemove": False,
    "IpcMode": "host",
    "ShmSize": 34359738368,
    "Privileged": False,
    "CapAdd": ["SYS_NICE"],
    "SecurityOpt": ["seccomp=unconfined"],
    "Devices": [{"PathOnHost": "/dev/infiniband", "PathInContainer": "/dev/infiniband", "CgroupPermissions": "rwm"}],
    "DeviceRequests": [{"Driver": "", "Count": -1, "DeviceIDs": None, "Capabilities": [["gpu"]], "Options": {}}],
    "Ulimits": [{"Name": "memlock", "Soft": -1, "Hard": -1}],
    "NanoCpus": 8000000000,
    "CpusetCpus": "0-7",
    "Memory": 0,
    "Sysctls": {"net.core.somaxconn": "1024"},
    "Tmpfs": {"/scratch": "size=1g"},
    "LogConfig": {"Type": "json-file", "Config": {}},
    "Runtime": "nvidia",
    "PidsLimit": None,
    "MemorySwappiness": None,
}


def inspect(host: dict[str, Any] | None = None, **parts: Any) -> dict[str, Any]:
    config = {"Hostname": "gpu-7", "User": "ml", "WorkingDir": "/work", "Env": ["A=1"], "Labels": {"traefik.x": "y"}}
    base: dict[str, Any] = {
        "Id": ID, "Name": "/prod", "HostConfig": {**HOST, **(host or {})}, "Config": config, "Mounts": [],
        "NetworkSettings": {"Networks": {"host": {}}},
    }  # fmt: skip
    return {**base, **parts}


def test_a_usual_server_is_copied_whole() -> None:
    copied = driver.create_options(inspect())
    assert copied.lost == []
    assert copied.env == ["A=1"]
    assert sorted(copied.options) == sorted([
        "--volume=/srv/models:/models:ro", "--volume=cache:/root/.cache",
        "--mount=type=bind,target=/data,source=/data,readonly", "--network=host", "--ipc=host",
        "--shm-size=34359738368", "--cap-add=SYS_NICE", "--security-opt=seccomp=unconfined",
        "--device=/dev/infiniband:/dev/infiniband:rwm", "--gpus=count=all", "--ulimit=memlock=-1:-1", "--cpus=8",
        "--cpuset-cpus=0-7", "--sysctl=net.core.somaxconn=1024", "--tmpfs=/scratch:size=1g", "--runtime=nvidia",
        "--hostname=gpu-7", "--user=ml", "--workdir=/work",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("request_", "option"),
    [
        ({"Count": 2, "Capabilities": [["gpu"]]}, "--gpus=count=2"),
        ({"DeviceIDs": ["0", "3"], "Capabilities": [["gpu"]]}, '--gpus="device=0,3"'),
        (
            {"Driver": "nvidia", "Count": -1, "Capabilities": [["gpu", "utility"]]},
            "--gpus=driver=nvidia,count=all,capabilities=utility",
        ),
        ({"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}, "--device=nvidia.com/gpu=all"),
    ],
)
def test_gpus_are_asked_for_as_before(request_: dict[str, Any], option: str) -> None:
    copied = driver.create_options(inspect({"DeviceRequests": [request_]}))
    assert copied.lost == []
    assert option in copied.options


def test_ports_networks_and_nameless_volumes_are_kept() -> None:
    networks = {"serve_default": {"Aliases": ["sglang", ID[:12]], "IPAMConfig": {"IPv4Address": "172.20.0.5"}}}
    ports = {"30000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "30000"}], "1/udp": [{"HostIp": "", "HostPort": ""}]}
    volume = {"Type": "volume", "Name": "f" * 64, "Source": "/var/lib/x", "Destination": "/cache", "RW": False}
    copied = driver.create_options(
        inspect(
            {"NetworkMode": "serve_default", "PortBindings": ports},
            NetworkSettings={"Networks": networks},
            Mounts=[volume, {"Type": "bind", "Source": "/data", "Destination": "/data"}],
        )
    )
    assert copied.lost == []
    wanted = {
        "--network=serve_default", "--network-alias=sglang", "--ip=172.20.0.5", "--publish=127.0.0.1:30000:30000/tcp",
        "--publish=1/udp", f"--volume={'f' * 64}:/cache:ro",
    }  # fmt: skip
    assert wanted <= set(copied.options)
    assert sum(option.startswith(("--volume", "--mount")) for option in copied.options) == 4


@pytest.mark.parametrize(
    ("host", "parts", "named"),
    [
        ({"SomethingNew": {"x": 1}}, {}, "HostConfig.SomethingNew"),
        ({"DeviceRequests": [{"Driver": "amd", "Capabilities": [["rocm"]]}]}, {}, "HostConfig.DeviceRequests"),
        ({"Mounts": [{"Type": "bind", "Source": "/a,b", "Target": "/c"}]}, {}, "HostConfig.Mounts (/c)"),
        (
            {"Mounts": [{"Type": "volume", "Target": "/c", "VolumeOptions": {"Driver": 1}}]},
            {},
            "HostConfig.Mounts (/c)",
        ),
        ({"BlkioDeviceReadBps": [{"Path": "/dev/sda"}]}, {}, "HostConfig.BlkioDeviceReadBps"),
        ({}, {"NetworkSettings": {"Networks": {"a": {}, "b": {}}}}, "NetworkSettings.Networks (a, b)"),
        ({}, {"Config": {"Env": ["GOOD=1", "CERT=-----\nline"]}}, "Config.Env.CERT"),
    ],
)
def test_what_cannot_be_said_is_named(host: dict[str, Any], parts: dict[str, Any], named: str) -> None:
    assert named in driver.create_options(inspect(host, **parts)).lost


def test_a_change_of_the_environment_reaches_the_file() -> None:
    change = {"set_env": {"B": "2"}, "remove_env": ["A"]}
    assert driver.env_lines(["A=1", "C=x=y"], change) == (["C=x=y", "B=2"], [])


@pytest.mark.parametrize(
    ("path", "args", "running", "before"),
    [
        ("python3", ["-m", "sglang", "--x"], ["python3", "-m", "sglang", "--x"], (["python3"], 1)),
        ("/init.sh", ["python3", "-m", "sglang"], ["/usr/bin/python3", "-m", "sglang"], (["/init.sh", "python3"], 1)),
        ("sglang", ["serve", "--x"], ["/v/python3", "/v/bin/sglang", "serve", "--x"], (["sglang"], 2)),
        ("bash", ["-c", "python3 -m sglang --x"], ["python3", "-m", "sglang", "--x"], None),
        ("/start.sh", [], ["python3", "-m", "sglang"], None),
    ],
)
def test_the_command_of_the_container_is_the_running_one_or_another(
    path: str, args: list[str], running: list[str], before: tuple[list[str], int] | None
) -> None:
    docker = driver.Docker({"kind": "docker", "name": "prod"})
    assert docker.command_before({"inspect": {"Path": path, "Args": args}, "argv": running}) == before


@pytest.mark.parametrize("name", ["--privileged", "a b", "$(touch x)", "a;b", "a\nb", "\x1b[31m", ""])
def test_a_name_that_no_container_can_have_is_refused(name: str) -> None:
    with pytest.raises(driver.Refusal, match="cannot be the name"):
        driver.Docker({"kind": "docker", "name": name})


def test_only_what_label_and_id_prove_is_ours() -> None:
    docker = driver.Docker({"kind": "docker", "name": ID})
    record = {"run": "run1", "inspect": {"Id": ID}}
    labels = {"specdoctor.run": "run1", "specdoctor.of": ID}
    assert docker.proved_sibling({"Id": "cd" * 32, "Config": {"Labels": labels}}, record)
    for identity, wrong in ((ID, labels), ("cd" * 32, {**labels, "specdoctor.run": "other"}), ("cd" * 32, {})):
        with pytest.raises(driver.Refusal, match="not made by this run"):
            docker.proved_sibling({"Id": identity, "Config": {"Labels": wrong}}, record)


OLD, NEW = "sha256:" + "a" * 64, "sha256:" + "b" * 64


class Told(driver.Docker):  # type: ignore[misc, name-defined]  # made from the joined program
    """docker with two images, whose orders are noted."""

    def __init__(self) -> None:
        super().__init__({"kind": "docker", "name": ID})
        self.orders: list[tuple[str, ...]] = []

    def tool(self, *words: str, **limits: float) -> str:
        self.orders.append(words)
        if words[:2] == ("image", "inspect"):
            known = {OLD: OLD, "sglang:v2": NEW}
            if words[2] not in known:
                raise driver.Refusal("keeper-refused", f"No such image: {words[2]}")
            env = ["PATH=/old", "CUDA=12"] if words[2] == OLD else ["PATH=/new"]
            return json.dumps([{"Id": known[words[2]], "Config": {"Env": env}}])
        if words[0] == "create":
            place = next(word for word in words if word.startswith("--env-file="))
            self.env = Path(place.partition("=")[2]).read_text().splitlines()
        return "cd" * 32


def sibling_of(docker: Told, folder: Path, change: dict[str, Any]) -> tuple[str, ...]:
    pairs = ["PATH=/old", "CUDA=12", "HF_HOME=/cache"]
    inspect = {"Id": ID, "Name": "/prod", "Path": "python3", "Args": ["-m", "sglang"], "Image": OLD}
    record = {"inspect": {**inspect, "Config": {"Env": pairs}}, "argv": ["python3", "-m", "sglang"]}
    start = driver.Start(
        run="r1", action="a1", changed=True, change={"set_env": {}, "remove_env": [], **change},
        argv=["python3", "-m", "sglang"], env={}, folder=str(folder), log="", beside="",
    )  # fmt: skip
    docker.make_sibling(record, start)
    return docker.orders[-1]


def test_a_sibling_of_another_image_leaves_the_old_images_environment_behind(tmp_path: Path) -> None:
    docker = Told()
    made = sibling_of(docker, tmp_path, {"image": "sglang:v2"})
    assert NEW in made
    assert OLD not in made
    assert docker.env == ["HF_HOME=/cache"]
    same = Told()
    assert OLD in sibling_of(same, tmp_path, {})
    assert same.env == ["PATH=/old", "CUDA=12", "HF_HOME=/cache"]


@pytest.mark.parametrize("name", ["sglang:v3", "--privileged", "a b", "$(touch x)", "a\nb"])
def test_an_image_that_is_not_here_is_refused_before_anything_else(name: str) -> None:
    docker = Told()
    with pytest.raises(driver.Refusal, match=r"No such image|cannot be the name"):
        docker.admit({"image": name})
    assert not any(order[0] in ("stop", "create", "pull") for order in docker.orders)


def test_what_no_container_keeps_takes_no_other_image() -> None:
    with pytest.raises(driver.Refusal, match="no container keeps the server"):
        driver.Plain({"kind": "plain"}).admit({"image": "sglang:v2"})
    driver.Plain({"kind": "plain"}).admit({})
