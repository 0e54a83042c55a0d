"""The system's own ssh client as a transport: how it logs in, how its commands end, and what is left of it."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specdoctor.core.errors import (
    AuthenticationRefused,
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
    HostUnreachable,
    TargetError,
)
from specdoctor.transports.openssh import OpenSshHost
from specdoctor.transports.openssh_master import LINGER_S, MasterOrder, in_foreground, master_argv, master_order
from specdoctor.transports.ssh_destination import SshDestination
from tests.transports.conftest import Keys, SshHome
from tests.transports.host_contract import is_running
from tests.transports.ssh_servers import Link, OpenSshServer, free_port

pytestmark = [
    pytest.mark.sshd,
    pytest.mark.skipif(shutil.which("ssh") is None, reason="the OpenSSH client is not installed"),
]


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


def after(delay_s: float, action: Callable[[], None]) -> None:
    timer = threading.Timer(delay_s, action)
    timer.daemon = True
    timer.start()


def master_pid(host: OpenSshHost) -> int:
    assert host._master is not None
    path = host._master.path
    done = subprocess.run(
        ["ssh", "-F", "none", "-S", path, "-O", "check", "any"], capture_output=True, text=True, check=True
    )
    return int(done.stderr.partition("pid=")[2].partition(")")[0])


def gone(pid: int, *, within_s: float) -> bool:
    give_up = time.monotonic() + within_s
    while is_running(pid):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.05)
    return True


def test_an_exit_code_of_255_is_the_commands_own(eagle: SshHome) -> None:
    with eagle.connect_by_client("eagle") as host:
        assert host.run(("sh", "-c", "exit 255")).exit_code == 255
        assert host.exec_channels == 1


def test_a_master_that_is_killed_is_a_lost_connection(eagle: SshHome) -> None:
    with eagle.connect_by_client("eagle") as host:
        pid = master_pid(host)
        after(0.3, lambda: os.kill(pid, signal.SIGKILL))
        with pytest.raises(ConnectionLost) as caught:
            host.run(("sh", "-c", "echo begun; sleep 3"), timeout_s=20)
        assert caught.value.message == (
            "eagle: the connection was lost while `sh` (2 arguments) ran; whether it ended is unknown"
        )
        assert host.run(("echo", "again")).text == "again\n"
    assert eagle.notices == ["eagle: the connection was lost; connecting again"]


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


def test_the_socket_lies_where_nobody_else_gets_in_and_is_gone_afterwards(eagle: SshHome) -> None:
    host = eagle.connect_by_client("eagle")
    assert host._master is not None
    folder = Path(host._master.path).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    pid = master_pid(host)
    host.close()
    assert not folder.exists()
    assert gone(pid, within_s=5.0)


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


def test_a_server_with_one_session_is_merely_slower(
    start_openssh: Callable[..., OpenSshServer], keys: Keys, ssh_home: SshHome
) -> None:
    server = start_openssh("MaxSessions 1").server
    ssh_home.know(server.known_hosts())
    ssh_home.add("eagle", server, key=keys.user)
    answers: list[str] = []
    with ssh_home.connect_by_client("eagle") as host:
        threads = [
            threading.Thread(target=lambda: answers.append(host.run(("sh", "-c", "sleep 0.1; echo in")).text))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == ["in\n"] * 4


def test_a_server_that_opens_no_session_says_so(
    start_openssh: Callable[..., OpenSshServer], keys: Keys, ssh_home: SshHome
) -> None:
    server = start_openssh("MaxSessions 0").server
    ssh_home.know(server.known_hosts())
    ssh_home.add("eagle", server, key=keys.user)
    with ssh_home.connect_by_client("eagle") as host, pytest.raises(TargetError, match="the host opens no session"):
        host.run(("true",))


def test_an_unknown_host_key_is_refused(openssh: OpenSshServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", openssh.server, key=keys.user)
    with pytest.raises(HostKeyUnknown) as caught:
        ssh_home.connect_by_client("eagle")
    assert "nothing was sent" in caught.value.message
    assert "--accept-new-host-key" in caught.value.next_step
    assert not ssh_home.known_hosts.exists()


def test_an_unknown_host_key_is_recorded_when_somebody_says_so(
    openssh: OpenSshServer, keys: Keys, ssh_home: SshHome
) -> None:
    ssh_home.add("eagle", openssh.server, key=keys.user)
    with ssh_home.connect_by_client("eagle", accept_new=True) as host:
        assert host.run(("echo", "in")).text == "in\n"
    assert ssh_home.known_hosts.exists()


def test_a_changed_host_key_is_refused_whatever_is_said(openssh: OpenSshServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", openssh.server, key=keys.user, HostKeyAlgorithms="ssh-ed25519")
    ssh_home.know(f"[127.0.0.1]:{openssh.server.port} {keys.other_host.public_line}\n")
    with pytest.raises(HostKeyChanged, match="host key has changed"):
        ssh_home.connect_by_client("eagle", accept_new=True)


def test_a_refused_key(openssh: OpenSshServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", openssh.server, key=keys.stranger, IdentitiesOnly="yes")
    ssh_home.know(openssh.server.known_hosts())
    with pytest.raises(AuthenticationRefused) as caught:
        ssh_home.connect_by_client("eagle")
    assert "Permission denied (publickey)" in caught.value.message
    assert "no terminal" in caught.value.next_step


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


ORDER = MasterOrder(destination=SshDestination(host="eagle"))


def option(argv: tuple[str, ...], name: str) -> str | None:
    found = [word.partition("=")[2] for word in argv if word.startswith(f"{name}=")]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("strict", "accept_new", "given"),
    [("ask", False, None), ("yes", False, None), ("ask", True, "accept-new"), ("no", True, None), ("off", True, None)],
)
def test_host_keys_are_checked_as_the_configuration_says(strict: str, accept_new: bool, given: str | None) -> None:
    order = master_order(
        ORDER.destination,
        {"stricthostkeychecking": [strict]},
        config_file=None,
        accept_new=accept_new,
        asking=False,
    )
    assert option(master_argv("ssh", order, "/run/s"), "StrictHostKeyChecking") == given


@pytest.mark.parametrize(("asking", "batch"), [(True, None), (False, "yes")])
def test_ssh_asks_only_where_somebody_can_answer(asking: bool, batch: str | None) -> None:
    argv = master_argv("ssh", ORDER.model_copy(update={"asking": asking}), "/run/s")
    assert option(argv, "BatchMode") == batch
    assert option(argv, "ControlPersist") == str(LINGER_S)
    assert argv[-2:] == ("--", "eagle")


def test_the_limits_of_the_configuration_win_over_ours() -> None:
    own = master_order(
        ORDER.destination,
        {"connecttimeout": ["5"], "serveraliveinterval": ["7"]},
        config_file="/home/me/cfg",
        accept_new=False,
        asking=False,
    )
    argv = master_argv("ssh", own, "/run/100%/s")
    assert option(argv, "ConnectTimeout") is None
    assert option(argv, "ServerAliveInterval") is None
    assert option(argv, "ControlPath") == "/run/100%%/s"
    assert argv[1:3] == ("-F", "/home/me/cfg")
    ours = master_argv(
        "ssh", master_order(ORDER.destination, {}, config_file=None, accept_new=False, asking=False), "/s"
    )
    assert option(ours, "ConnectTimeout") == "15"
    assert option(ours, "ServerAliveInterval") == "15"


def test_a_failed_log_in_is_looked_into_without_a_master_and_without_questions() -> None:
    argv = in_foreground(master_argv("ssh", ORDER, "/run/s"))
    assert argv[1:7] == ("-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o", "ControlPath=none")
    assert argv[-3:] == ("--", "eagle", "true")
    assert not {"-M", "-N"} & set(argv)


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
