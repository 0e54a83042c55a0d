"""The system's own ssh client over links that fail and configurations that ask for much."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specdoctor.core.errors import (
    AuthenticationRefused,
    ConnectionLost,
    HostKeyUnknown,
    HostUnreachable,
    TargetError,
)
from specdoctor.transports.openssh import OpenSshHost
from specdoctor.transports.openssh_master import LINGER_S
from tests.transports.conftest import Keys, SshHome, keys, openssh, ssh_home, start_openssh
from tests.transports.openssh_masters import after
from tests.transports.ssh_servers import KeyPair, Link, OpenSshServer, free_port, own_name

pytestmark = [
    pytest.mark.sshd,
    pytest.mark.skipif(shutil.which("ssh") is None, reason="the OpenSSH client is not installed"),
]

__all__ = ["keys", "openssh", "ssh_home", "start_openssh"]


@pytest.fixture
def eagle(openssh: OpenSshServer, keys: Keys, ssh_home: SshHome) -> SshHome:
    """A configuration that knows the server as `eagle`."""
    ssh_home.add("eagle", openssh.server, key=keys.user)
    ssh_home.know(openssh.server.known_hosts())
    return ssh_home


@pytest.fixture
def link(openssh: OpenSshServer, keys: Keys, ssh_home: SshHome) -> Iterator[Link]:
    """A breakable way to the server, known to the configuration as `eagle`."""
    made = Link(openssh.server.port)
    quick = {"HostKeyAlias": "eagle", "ServerAliveInterval": "1", "ServerAliveCountMax": "1"}
    ssh_home.add("eagle", openssh.server, key=keys.user, port=made.port, **quick)
    ssh_home.know(openssh.server.known_hosts(name="eagle"))
    yield made
    made.close()


def test_a_link_that_is_cut_is_a_lost_connection(link: Link, ssh_home: SshHome) -> None:
    with ssh_home.connect_by_client("eagle") as host:
        after(0.3, link.cut)
        with pytest.raises(ConnectionLost, match="whether it ended is unknown"):
            host.run(("sh", "-c", "echo begun; sleep 3"), timeout_s=20)
        assert host.run(("echo", "again")).text == "again\n"


def test_a_link_that_dies_silently_is_noticed(link: Link, ssh_home: SshHome) -> None:
    with ssh_home.connect_by_client("eagle") as host:
        link.freeze()
        started = time.monotonic()
        with pytest.raises(ConnectionLost):
            host.run(("echo", "never"), timeout_s=60)
        assert time.monotonic() - started < 20
        link.thaw()


KILLED = """
import os, signal, sys
from specdoctor.transports.connect import connect
host = connect("ssh://eagle", config_file=sys.argv[1], ssh_transport="openssh")
print(host._master.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_master_whose_specdoctor_was_killed_is_held_by_nobody(eagle: SshHome) -> None:
    """It ends LINGER_S later; that nobody holds it is what a test can see at once."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(eagle.config)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    path = done.stdout.strip()
    check = ["ssh", "-F", "none", "-S", path]
    assert subprocess.run([*check, "-O", "check", "any"], capture_output=True, check=False).returncode == 0
    subprocess.run([*check, "-O", "exit", "any"], capture_output=True, check=False)
    shutil.rmtree(Path(path).parent)
    assert LINGER_S <= 60


def test_commands_under_way_end_with_the_connection(eagle: SshHome) -> None:
    host = eagle.connect_by_client("eagle")
    after(0.3, host.close)
    with pytest.raises(ConnectionLost):
        host.run(("sleep", "3"), timeout_s=20)


def test_a_session_that_ends_without_a_status_is_not_taken_for_success(eagle: SshHome) -> None:
    with eagle.connect_by_client("eagle") as host:
        with pytest.raises(ConnectionLost, match="closed without an exit status"):
            host.run(("sh", "-c", "kill -9 $(ps -o pgid= -p $$)"))
        assert host.run(("echo", "still here")).text == "still here\n"


def test_a_server_that_opens_no_session_says_so(
    start_openssh: Callable[..., OpenSshServer], keys: Keys, ssh_home: SshHome
) -> None:
    server = start_openssh("MaxSessions 0").server
    ssh_home.know(server.known_hosts())
    ssh_home.add("eagle", server, key=keys.user)
    with ssh_home.connect_by_client("eagle") as host, pytest.raises(TargetError, match="the host opens no session"):
        host.run(("true",))


def test_an_unknown_host_key_is_recorded_when_somebody_says_so(
    openssh: OpenSshServer, keys: Keys, ssh_home: SshHome
) -> None:
    ssh_home.add("eagle", openssh.server, key=keys.user)
    with ssh_home.connect_by_client("eagle", accept_new=True) as host:
        assert host.run(("echo", "in")).text == "in\n"
    assert ssh_home.known_hosts.exists()


def test_a_closed_port(openssh: OpenSshServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", openssh.server, key=keys.user, port=free_port())
    with pytest.raises(HostUnreachable, match="Connection refused"):
        ssh_home.connect_by_client("eagle")


def test_a_proxy_command_chooses_the_client_by_itself(eagle: SshHome, openssh: OpenSshServer, keys: Keys) -> None:
    relay = f"{sys.executable} -c 'import socket,sys,threading,os;"
    relay += f's=socket.create_connection(("127.0.0.1",{openssh.server.port}));'
    relay += 'threading.Thread(target=lambda:[s.sendall(d) for d in iter(lambda:os.read(0,65536),b"")],daemon=True)'
    relay += '.start();[os.write(1,d) for d in iter(lambda:s.recv(65536),b"")]\''
    eagle.add("proxied", openssh.server, key=keys.user, ProxyCommand=relay)
    host = eagle.reach("proxied")
    try:
        assert isinstance(host, OpenSshHost)
        assert host.run(("echo", "in")).text == "in\n"
    finally:
        host.close()
    assert eagle.notices == ["proxied: using the ssh client, for ProxyCommand"]


def test_what_a_proxy_command_says_when_it_fails_is_told(eagle: SshHome, openssh: OpenSshServer, keys: Keys) -> None:
    eagle.add("proxied", openssh.server, key=keys.user, ProxyCommand="sh -c 'echo no route today >&2; exit 1'")
    with pytest.raises(HostUnreachable, match="no route today"):
        eagle.connect_by_client("proxied")


def test_what_the_users_configuration_says_besides_does_not_get_in_the_way(
    eagle: SshHome, openssh: OpenSshServer, keys: Keys
) -> None:
    unwanted = {
        "ControlMaster": "auto",
        "ControlPath": str(eagle.folder / "own-%C"),
        "ControlPersist": "yes",
        "RemoteCommand": "echo never",
        "RequestTTY": "force",
        "LocalForward": f"{free_port()} 127.0.0.1:1",
        "PermitLocalCommand": "yes",
        "LocalCommand": "echo never",
        "LogLevel": "QUIET",
    }
    eagle.add("busy", openssh.server, key=keys.user, **unwanted)
    with eagle.connect_by_client("busy") as host:
        assert host.run(("echo", "in")).text == "in\n"
    assert not list(eagle.folder.glob("own-*"))


def test_a_host_that_would_ask_a_person_is_left_to_ssh_at_a_terminal(
    start_openssh: Callable[..., OpenSshServer], keys: Keys, ssh_home: SshHome
) -> None:
    """The client finds no terminal here either: what matters is that it was its turn."""
    server = start_openssh("PasswordAuthentication yes").server
    ssh_home.know(server.known_hosts())
    ssh_home.add("eagle", server, key=keys.stranger, IdentitiesOnly="yes", NumberOfPasswordPrompts="0")
    with pytest.raises(AuthenticationRefused, match="says ssh"):
        ssh_home.reach("eagle", ask_passphrase=lambda _: None)
    assert ssh_home.notices[0] == "eagle: no key is accepted; ssh asks for password"
    with pytest.raises(AuthenticationRefused, match=r"log-in as .* was refused"):
        ssh_home.reach("eagle")


def certified(key: KeyPair, authority: KeyPair, folder: Path, *options: str) -> Path:
    """A certificate for a key, signed by an authority."""
    public = folder / "certified.pub"
    public.write_text(key.public_line + "\n")
    subprocess.run(
        ["ssh-keygen", "-q", "-s", str(authority.path), "-I", "test", *options, str(public)],
        check=True,
        capture_output=True,
    )
    return folder / "certified-cert.pub"


def test_a_host_that_an_authority_vouches_for_is_left_to_ssh(
    start_openssh: Callable[..., OpenSshServer], keys: Keys, ssh_home: SshHome, tmp_path: Path
) -> None:
    certificate = certified(keys.host, keys.other_host, tmp_path, "-h", "-n", "eagle")
    server = start_openssh(f"HostCertificate {certificate}").server
    ssh_home.add("eagle", server, key=keys.user, HostKeyAlias="eagle")
    ssh_home.know(f"@cert-authority eagle {keys.other_host.public_line}\n")
    with pytest.raises(HostKeyUnknown, match="certificate authority"):
        ssh_home.connect("eagle")
    host = ssh_home.reach("eagle")
    try:
        assert isinstance(host, OpenSshHost)
        assert host.run(("echo", "in")).text == "in\n"
    finally:
        host.close()


def test_a_certificate_of_the_user_lets_in(
    start_openssh: Callable[..., OpenSshServer], keys: Keys, ssh_home: SshHome, tmp_path: Path
) -> None:
    certificate = certified(keys.stranger, keys.other_host, tmp_path, "-n", own_name())
    server = start_openssh(f"TrustedUserCAKeys {keys.other_host.path}.pub").server
    ssh_home.add("eagle", server, key=keys.stranger, CertificateFile=str(certificate), IdentitiesOnly="yes")
    ssh_home.know(server.known_hosts())
    host = ssh_home.reach("eagle")
    try:
        assert isinstance(host, OpenSshHost)
        assert host.run(("echo", "in")).text == "in\n"
    finally:
        host.close()
    assert ssh_home.notices == ["eagle: using the ssh client, for CertificateFile"]
