"""The contract kept by each transport: in-process SSH, a real sshd (paramiko and ssh), this machine, a container."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from specdoctor.app.checkpoint_reading import read_drafter
from specdoctor.app.model_files import ModelFiles
from specdoctor.core.errors import CheckpointError
from specdoctor.core.host import Host
from specdoctor.core.via import parse_via
from specdoctor.transports.local import LocalHost
from specdoctor.transports.via import ViaHost
from tests.drafter.folders import put_head
from tests.transports.conftest import Keys, SshHome, shims_on_path
from tests.transports.host_contract import EachArgument, HostContract, Subject


@pytest.fixture(scope="module", params=["in-process", "sshd", "openssh", "local", "docker"])
def subject(request: pytest.FixtureRequest, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    with ExitStack() as stack:
        if request.param == "local":
            yield Subject(stack.enter_context(LocalHost()))
            return
        if request.param == "openssh" and shutil.which("ssh") is None:
            pytest.skip("no ssh client on this machine (Debian: apt-get install openssh-client)")
        if request.param == "docker":
            stack.enter_context(shims_on_path())
            yield Subject(ViaHost(LocalHost(), parse_via("docker:app")))
            return
        server = request.getfixturevalue("in_process" if request.param == "in-process" else "openssh").server
        home = SshHome(tmp_path_factory.mktemp("ssh"))
        home.add("target", server, key=keys.user)
        home.know(server.known_hosts())
        host = home.connect_by_client("target") if request.param == "openssh" else home.connect("target")
        yield Subject(stack.enter_context(host))


class TestHost(HostContract):
    pass


@pytest.mark.parametrize("subject", ["in-process", "sshd", "local"], indirect=True, scope="module")
class TestEachArgument(EachArgument):
    pass


def test_a_host_has_a_name(subject: Subject) -> None:
    assert subject.host.name in {"target", "local", "docker:app on local"}


def conforms(make: Callable[[], Host]) -> Host:
    return make()


def test_implementations_fit_the_port() -> None:
    assert conforms(LocalHost).name == "local"


def test_a_checkpoint_is_read_by_range_over_each_transport(subject: Subject, tmp_path: Path) -> None:
    head = put_head(tmp_path / "head")
    (head / "train").mkdir()
    (head / "train" / "run.yaml").write_text("trained_on: [out(1)]")
    with (head / "model.safetensors").open("r+b") as file:
        file.truncate(60 << 30)
    found = read_drafter(ModelFiles(subject.host, str(head), label="gpu-7:head"))
    assert found.tensors["fc.weight"].shape == (8, 24)
    assert found.small["d2t"][:3] == (0, 1, 2)
    assert found.texts["gpu-7:head/train/run.yaml"] == "trained_on: [out(1)]"
    with pytest.raises(CheckpointError, match="gpu-7:gone: there is no such folder"):
        ModelFiles(subject.host, str(tmp_path / "gone"), label="gpu-7:gone")
