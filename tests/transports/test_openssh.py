"""The system's own ssh client as a transport: how it logs in, how its commands end, and what is left of it."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest

from specdoctor.core.errors import (
    AuthenticationRefused,
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
)
from specdoctor.transports.openssh_master import LINGER_S, MasterOrder, in_foreground, master_argv, master_order, sweep
from specdoctor.transports.ssh_destination import SshDestination
from tests.transports.conftest import Keys, SshHome
from tests.transports.openssh_masters import after, gone, master_pid
from tests.transports.ssh_servers import OpenSshServer

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


def test_the_socket_lies_where_nobody_else_gets_in_and_is_gone_afterwards(eagle: SshHome) -> None:
    host = eagle.connect_by_client("eagle")
    assert host._master is not None
    folder = Path(host._master.path).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    pid = master_pid(host)
    host.close()
    assert not folder.exists()
    assert gone(pid, within_s=5.0)


def test_an_unknown_host_key_is_refused(openssh: OpenSshServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", openssh.server, key=keys.user)
    with pytest.raises(HostKeyUnknown) as caught:
        ssh_home.connect_by_client("eagle")
    assert "nothing was sent" in caught.value.message
    assert "--accept-new-host-key" in caught.value.next_step
    assert not ssh_home.known_hosts.exists()


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


def test_folders_that_killed_clients_left_are_swept_away(tmp_path: Path) -> None:
    left, fresh, foreign = (tmp_path / name for name in ("specdoctor-ssh-left", "specdoctor-ssh-new", "something-else"))
    for folder in (left, fresh, foreign):
        folder.mkdir()
        (folder / "s").touch()
    long_ago = time.time() - 7200
    for folder in (left, foreign):
        os.utime(folder, (long_ago, long_ago))
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["something-else", "specdoctor-ssh-new"]


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
