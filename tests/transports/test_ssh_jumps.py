"""The way to a host: jump hosts, one or two, and proxy commands."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

import pytest

from specdoctor.core.errors import AuthenticationRefused, HostKeyUnknown, HostUnreachable, UsageError
from tests.transports.conftest import Keys, SshHome, StartServer
from tests.transports.ssh_servers import LOOPBACK, InProcessServer, OpenSshServer, Server, free_port

pytestmark = pytest.mark.ssh


@dataclass(frozen=True)
class Chain:
    outer: InProcessServer
    inner: InProcessServer
    target: InProcessServer


@pytest.fixture
def chain(start_server: StartServer, keys: Keys, ssh_home: SshHome) -> Chain:
    """Two jump hosts in front of a target, all known; the target lets in another key than they do."""
    built = Chain(outer=start_server(), inner=start_server(), target=start_server(allowed=(keys.stranger,)))
    for server in (built.outer, built.inner, built.target):
        ssh_home.know(server.server.known_hosts())
    ssh_home.add("outer", built.outer.server, key=keys.user)
    ssh_home.add("inner", built.inner.server, key=keys.user)
    return built


def test_two_jump_hosts(chain: Chain, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("target", chain.target.server, key=keys.stranger, ProxyJump="outer,inner")
    with ssh_home.connect("target") as host:
        data = bytes(range(256)) * 2000
        assert host.run(("cat",), stdin=data).stdout == data
        assert host.run(("echo", "in")).text == "in\n"
        assert host.exec_channels == 2
    assert chain.outer.forwards == [(LOOPBACK, chain.inner.server.port)]
    assert chain.inner.forwards == [(LOOPBACK, chain.target.server.port)]
    assert [len(server.connections) for server in (chain.outer, chain.inner, chain.target)] == [1, 1, 1]


def test_a_jump_host_that_has_one_itself(chain: Chain, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("second", chain.inner.server, key=keys.user, ProxyJump="outer")
    ssh_home.add("target", chain.target.server, key=keys.stranger, ProxyJump="second")
    with ssh_home.connect("target") as host:
        assert host.run(("echo", "in")).text == "in\n"
    assert len(chain.outer.forwards) == 1


def test_jump_hosts_in_a_circle(chain: Chain, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("one", chain.target.server, key=keys.user, ProxyJump="two")
    ssh_home.add("two", chain.inner.server, key=keys.user, ProxyJump="one")
    with pytest.raises(UsageError, match="the jump hosts lead in a circle: one via two via one"):
        ssh_home.connect("one")
    assert not chain.inner.connections


def test_the_jump_host_that_is_not_known_is_named(chain: Chain, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("stranger", chain.inner.server, key=keys.user, HostKeyAlias="nobody", ProxyJump="outer")
    ssh_home.add("target", chain.target.server, key=keys.stranger, ProxyJump="stranger")
    with pytest.raises(HostKeyUnknown, match=r"^stranger: host key is not known") as caught:
        ssh_home.connect("target")
    assert "ssh-keyscan" not in caught.value.next_step
    assert not chain.target.connections


def test_the_jump_host_that_refuses_is_named(chain: Chain, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("closed", chain.inner.server, key=keys.stranger, ProxyJump="outer")
    ssh_home.add("target", chain.target.server, key=keys.stranger, ProxyJump="closed")
    with pytest.raises(AuthenticationRefused, match=r"^closed: log-in as tester was refused"):
        ssh_home.connect("target")


def test_a_target_the_jump_host_cannot_reach(chain: Chain, keys: Keys, ssh_home: SshHome) -> None:
    port = free_port()
    ssh_home.add("target", chain.target.server, key=keys.stranger, port=port, ProxyJump="outer")
    with pytest.raises(HostUnreachable, match=f"the jump host before it cannot reach {LOOPBACK}:{port}"):
        ssh_home.connect("target")


def test_a_jump_host_that_forwards_nothing(start_server: StartServer, keys: Keys, ssh_home: SshHome) -> None:
    jump = start_server(forwards_allowed=False)
    ssh_home.know(jump.server.known_hosts())
    ssh_home.add("jump", jump.server, key=keys.user)
    ssh_home.add("target", jump.server, key=keys.user, port=free_port(), ProxyJump="jump")
    with pytest.raises(HostUnreachable, match="cannot reach") as caught:
        ssh_home.connect("target")
    assert "allows forwarding" in caught.value.next_step


def test_a_real_server_as_jump_host(
    openssh: OpenSshServer, in_process: InProcessServer, keys: Keys, ssh_home: SshHome
) -> None:
    ssh_home.know(openssh.server.known_hosts() + in_process.server.known_hosts())
    ssh_home.add("jump", openssh.server, key=keys.user)
    ssh_home.add("target", in_process.server, key=keys.user, ProxyJump="jump")
    with ssh_home.connect("target") as host:
        assert host.run(("echo", "in")).text == "in\n"


RELAY = """\
import os, socket, sys, threading
link = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def up():
    while data := os.read(0, 65536):
        link.sendall(data)
threading.Thread(target=up, daemon=True).start()
while data := link.recv(65536):
    while data:
        data = data[os.write(1, data):]
"""


def test_a_proxy_command(in_process: InProcessServer, keys: Keys, ssh_home: SshHome) -> None:
    relay = ssh_home.folder / "relay.py"
    relay.write_text(RELAY)
    command = f"{shlex.join([sys.executable, str(relay)])} %h %p"
    ssh_home.know(in_process.server.known_hosts())
    ssh_home.add("target", in_process.server, key=keys.user, ProxyCommand=command)
    with ssh_home.connect("target") as host:
        data = bytes(range(256)) * 2000
        assert host.run(("cat",), stdin=data).stdout == data


@pytest.mark.parametrize(
    ("command", "said"), [("echo no way through >&2; exit 1", "no way through"), ("/no/such/program", "not found")]
)
def test_a_proxy_command_that_fails_is_quoted(ssh_home: SshHome, keys: Keys, command: str, said: str) -> None:
    ssh_home.add("target", Server(port=22, host_keys=(), user="me"), key=keys.user, ProxyCommand=f"sh -c '{command}'")
    with pytest.raises(HostUnreachable, match=said) as caught:
        ssh_home.connect("target")
    assert caught.value.tried == "SSH handshake through its ProxyCommand"
