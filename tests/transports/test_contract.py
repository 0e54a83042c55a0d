"""The contract kept by each transport: in-process SSH, a real sshd (paramiko and ssh), this machine, a container."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from specdoctor.core.host import Host
from specdoctor.core.via import parse_via
from specdoctor.transports.local import LocalHost
from specdoctor.transports.via import ViaHost
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
