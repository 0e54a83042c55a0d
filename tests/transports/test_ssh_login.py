"""Getting in, and being told plainly why not."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from specdoctor.core.errors import AuthenticationRefused, HostUnreachable
from tests.transports.conftest import Keys, SshHome, StartServer
from tests.transports.ssh_servers import LOOPBACK, InProcessServer, KeyPair, OpenSshServer, Server, free_port

pytestmark = pytest.mark.ssh


@pytest.fixture
def known(in_process: InProcessServer, ssh_home: SshHome) -> Server:
    ssh_home.know(in_process.server.known_hosts())
    return in_process.server


def test_a_refused_key_is_named(known: Server, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", known, key=keys.stranger)
    with pytest.raises(AuthenticationRefused) as caught:
        ssh_home.connect("eagle")
    assert caught.value.message.splitlines() == [
        "eagle: log-in as tester was refused",
        f"  offered  {keys.stranger.path} {keys.stranger.public.fingerprint}",
        "  accepts  publickey, keyboard-interactive, password",
    ]
    assert str(keys.stranger.path) in caught.value.tried
    assert "authorized_keys of tester" in caught.value.next_step


def test_keys_are_tried_until_one_fits(known: Server, keys: Keys, ssh_home: SshHome) -> None:
    more = f"{keys.host_rsa.path}\n  IdentityFile {keys.user.path}"
    ssh_home.add("eagle", known, key=keys.stranger, IdentityFile=f"{keys.stranger.path}\n  IdentityFile {more}")
    with ssh_home.connect("eagle") as host:
        assert host.run(("echo", "in")).text == "in\n"


def test_without_any_key(known: Server, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", known, key=None)
    with pytest.raises(AuthenticationRefused, match="offered  no key"):
        ssh_home.connect("eagle")


def test_a_locked_key_is_unlocked_by_asking(start_server: StartServer, keys: Keys, ssh_home: SshHome) -> None:
    server = start_server(allowed=(keys.locked,)).server
    ssh_home.know(server.known_hosts())
    ssh_home.add("eagle", server, key=keys.locked)
    asked: list[str] = []

    def ask(path: str) -> str:
        asked.append(path)
        return keys.passphrase

    with ssh_home.connect("eagle", ask_passphrase=ask) as host:
        assert host.run(("echo", "in")).text == "in\n"
    assert asked == [str(keys.locked.path)]
    with pytest.raises(AuthenticationRefused, match="locked and no passphrase was given"):
        ssh_home.connect("eagle", ask_passphrase=lambda _: None)


def test_a_server_that_takes_no_keys_says_what_it_takes(
    start_server: StartServer, keys: Keys, ssh_home: SshHome
) -> None:
    server = start_server(allowed=None).server
    ssh_home.know(server.known_hosts())
    ssh_home.add("eagle", server, key=keys.user)
    with pytest.raises(AuthenticationRefused) as caught:
        ssh_home.connect("eagle")
    assert "the host accepts no keys at all" in caught.value.message
    assert "accepts  keyboard-interactive, password" in caught.value.message


def test_a_server_that_has_enough_of_trying(
    start_openssh: Callable[..., OpenSshServer], keys: Keys, ssh_home: SshHome
) -> None:
    server = start_openssh("MaxAuthTries 2").server
    ssh_home.know(server.known_hosts())
    wrong = (keys.stranger.path, keys.host.path, keys.other_host.path)
    ssh_home.add("eagle", server, key=None, IdentityFile="\n  IdentityFile ".join(str(path) for path in wrong))
    with pytest.raises(AuthenticationRefused) as caught:
        ssh_home.connect("eagle")
    assert "closed the connection after the last one" in caught.value.message
    assert caught.value.message.count("offered") == 2


def test_a_second_factor_is_named(start_openssh: Callable[..., OpenSshServer], keys: Keys, ssh_home: SshHome) -> None:
    server = start_openssh("AuthenticationMethods publickey,password", "PasswordAuthentication yes").server
    ssh_home.know(server.known_hosts())
    ssh_home.add("eagle", server, key=keys.user)
    with pytest.raises(AuthenticationRefused, match="the key is accepted, but the host also asks for password"):
        ssh_home.connect("eagle")


@pytest.mark.parametrize("kind", ["user", "host_rsa", "host_ecdsa"])
def test_a_real_server_takes_every_type_of_key(
    start_openssh: Callable[..., OpenSshServer], keys: Keys, ssh_home: SshHome, kind: str
) -> None:
    pair: KeyPair = getattr(keys, kind)
    accounts = ssh_home.folder / "accounts"
    accounts.write_text(f"{pair.public_line}\n")
    server = start_openssh(f"AuthorizedKeysFile {accounts}").server
    ssh_home.know(server.known_hosts())
    ssh_home.add("eagle", server, key=pair)
    with ssh_home.connect("eagle") as host:
        assert host.run(("echo", "in")).text == "in\n"


def test_a_closed_port(ssh_home: SshHome, keys: Keys) -> None:
    port = free_port()
    ssh_home.add("eagle", Server(port=port, host_keys=(), user="me"), key=keys.user)
    with pytest.raises(HostUnreachable) as caught:
        ssh_home.connect("eagle")
    assert caught.value.message == f"eagle: no connection to {LOOPBACK}:{port}: nothing listens there"
    assert "sshd" in caught.value.next_step


def test_an_unknown_name(ssh_home: SshHome, keys: Keys) -> None:
    server = Server(port=22, host_keys=(), user="me")
    ssh_home.add("eagle", server, key=keys.user, HostName="no-such-host.invalid")
    with pytest.raises(HostUnreachable) as caught:
        ssh_home.connect("eagle")
    assert caught.value.message.startswith("eagle: the name no-such-host.invalid cannot be resolved")


def test_a_port_that_does_not_answer(ssh_home: SshHome, keys: Keys) -> None:
    with socket.create_server((LOOPBACK, 0)) as silent:
        port = silent.getsockname()[1]
        ssh_home.add("eagle", Server(port=port, host_keys=(), user="me"), key=keys.user, ConnectTimeout="1")
        with pytest.raises(HostUnreachable, match="does not answer as an SSH server"):
            ssh_home.connect("eagle")


def test_a_port_where_something_else_answers(ssh_home: SshHome, keys: Keys) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        ssh_home.add("eagle", Server(port=port, host_keys=(), user="me"), key=keys.user, ConnectTimeout="2")
        with pytest.raises(HostUnreachable, match=f"{LOOPBACK}:{port} does not answer as an SSH server"):
            ssh_home.connect("eagle")
        thread.join()


def test_nothing_of_the_library_reaches_standard_error(
    known: Server, keys: Keys, ssh_home: SshHome, capfd: pytest.CaptureFixture[str]
) -> None:
    ssh_home.add("eagle", known, key=keys.stranger)
    with pytest.raises(AuthenticationRefused):
        ssh_home.connect("eagle")
    assert capfd.readouterr().err == ""


def test_the_heavy_library_is_loaded_only_for_ssh() -> None:
    code = "import sys; from specdoctor.transports.connect import connect; connect('local:'); "
    code += "sys.exit(any(name.partition('.')[0] in ('paramiko', 'cryptography') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
