"""A connection over its life: one for all commands, lost, frozen, made again, and servers that allow little."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specdoctor.core.errors import ConnectionLost, HostUnreachable, TargetError
from specdoctor.transports.ssh import SshHost
from specdoctor.transports.ssh_config import resolve_route
from specdoctor.transports.ssh_route import SshRoute
from tests.transports.conftest import Keys, SshHome, StartServer
from tests.transports.ssh_servers import InProcessServer, Link, OpenSshServer, Server

pytestmark = pytest.mark.ssh


@pytest.fixture(params=["in-process", "sshd"])
def server(request: pytest.FixtureRequest) -> Server:
    owner = request.getfixturevalue("in_process" if request.param == "in-process" else "openssh")
    found: Server = owner.server
    return found


@pytest.fixture
def link(server: Server, keys: Keys, ssh_home: SshHome) -> Iterator[Link]:
    """A breakable way to the server, known to the configuration as `eagle`."""
    made = Link(server.port)
    ssh_home.add("eagle", server, key=keys.user, port=made.port, HostKeyAlias="eagle")
    ssh_home.know(server.known_hosts(name="eagle"))
    yield made
    made.close()


def after(delay_s: float, action: Callable[[], None]) -> None:
    timer = threading.Timer(delay_s, action)
    timer.daemon = True
    timer.start()


def test_one_connection_for_all_commands(start_server: StartServer, keys: Keys, ssh_home: SshHome) -> None:
    server = start_server()
    ssh_home.know(server.server.known_hosts())
    ssh_home.add("eagle", server.server, key=keys.user)
    with ssh_home.connect("eagle") as host:
        threads = [threading.Thread(target=host.run, args=(("true",),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        host.read_range("/proc/version")
        assert host.exec_channels == 8
    assert len(server.connections) == 1


def test_a_connection_lost_while_a_command_runs(link: Link, ssh_home: SshHome) -> None:
    with ssh_home.connect("eagle") as host:
        after(0.3, link.cut)
        started = time.monotonic()
        with pytest.raises(ConnectionLost) as caught:
            host.run(("sh", "-c", "echo begun; sleep 3"), timeout_s=20)
        assert time.monotonic() - started < 3
        assert caught.value.message == (
            "eagle: the connection was lost while `sh` (2 arguments) ran; whether it ended is unknown"
        )
        assert caught.value.next_step == "Look at the host before doing it again."


def test_the_next_command_connects_again(link: Link, ssh_home: SshHome) -> None:
    with ssh_home.connect("eagle") as host:
        assert host.run(("echo", "one")).text == "one\n"
        link.cut()
        deadline = time.monotonic() + 5
        while host._connection is not None and host._connection.alive and time.monotonic() < deadline:
            time.sleep(0.02)
        assert host.run(("echo", "two")).text == "two\n"
    assert ssh_home.notices == ["eagle: the connection was lost; connecting again"]


def test_a_server_that_is_gone_is_unreachable(start_server: StartServer, keys: Keys, ssh_home: SshHome) -> None:
    server = start_server()
    ssh_home.know(server.server.known_hosts())
    ssh_home.add("eagle", server.server, key=keys.user)
    host = ssh_home.connect("eagle")
    server.close()
    with pytest.raises((HostUnreachable, ConnectionLost)):
        host.run(("true",))
    with pytest.raises(HostUnreachable, match="nothing listens"):
        host.run(("true",))
    host.close()


def with_signs_of_life(route: SshRoute, *, every_s: float, count: int) -> SshHost:
    quick = route.target.model_copy(update={"keepalive_s": every_s, "keepalive_count": count})
    return SshHost(route.model_copy(update={"hops": (quick,)}))


def test_a_link_that_dies_silently_is_noticed(link: Link, ssh_home: SshHome) -> None:
    route = resolve_route("eagle", config_file=str(ssh_home.config))
    with with_signs_of_life(route, every_s=0.2, count=2) as host:
        link.freeze()
        started = time.monotonic()
        with pytest.raises(ConnectionLost):
            host.run(("echo", "never"), timeout_s=30)
        assert time.monotonic() - started < 5
        link.thaw()


def test_a_living_link_stays_up_over_many_signs_of_life(link: Link, ssh_home: SshHome) -> None:
    route = resolve_route("eagle", config_file=str(ssh_home.config))
    with with_signs_of_life(route, every_s=0.02, count=500) as host:
        # Not more than paramiko takes without asking for more: its request may come after the session's end, over
        # which a strict server ends the connection.
        data = os.urandom(150_000)
        assert host.run(("sh", "-c", "sleep 0.5; cat"), stdin=data).stdout == data
        assert host.run(("echo", "still here")).text == "still here\n"


def test_closing_ends_commands_under_way(in_process: InProcessServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.know(in_process.server.known_hosts())
    ssh_home.add("eagle", in_process.server, key=keys.user)
    host = ssh_home.connect("eagle")
    after(0.2, host.close)
    with pytest.raises(ConnectionLost):
        host.run(("sleep", "3"), timeout_s=20)


def test_a_session_that_ends_without_a_status_is_not_taken_for_success(
    in_process: InProcessServer, keys: Keys, ssh_home: SshHome
) -> None:
    ssh_home.know(in_process.server.known_hosts())
    ssh_home.add("eagle", in_process.server, key=keys.user)
    with ssh_home.connect("eagle") as host:
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
    with ssh_home.connect("eagle") as host:
        assert host.read_range("/proc/version").startswith(b"Linux")
        threads = [
            threading.Thread(target=lambda: answers.append(host.run(("sh", "-c", "sleep 0.1; echo in")).text))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert host.read_range("/proc/version").startswith(b"Linux")
    assert answers == ["in\n"] * 4


def test_a_server_that_opens_no_session_says_so(
    start_openssh: Callable[..., OpenSshServer], keys: Keys, ssh_home: SshHome
) -> None:
    server = start_openssh("MaxSessions 0").server
    ssh_home.know(server.known_hosts())
    ssh_home.add("eagle", server, key=keys.user)
    with ssh_home.connect("eagle") as host, pytest.raises(TargetError, match="the host opens no session"):
        host.run(("true",))


@pytest.fixture(params=["in-process", "sshd"])
def host_without_sftp(
    request: pytest.FixtureRequest,
    start_server: StartServer,
    keys: Keys,
    ssh_home: SshHome,
) -> Iterator[SshHost]:
    if request.param == "in-process":
        server = start_server(sftp=False).server
    else:
        server = request.getfixturevalue("start_openssh")("Subsystem sftp /bin/false").server
    ssh_home.know(server.known_hosts())
    ssh_home.add("eagle", server, key=keys.user)
    with ssh_home.connect("eagle") as host:
        yield host


def test_files_are_read_without_sftp(host_without_sftp: SshHost, tmp_path: Path) -> None:
    path = tmp_path / "-n it's $(x)"
    path.write_bytes(bytes(range(256)) * 1000)
    for offset, length in ((0, None), (0, 10), (5, 300), (255_990, 100), (300_000, 5), (7, 0)):
        end = None if length is None else offset + length
        assert host_without_sftp.read_range(str(path), offset=offset, length=length) == path.read_bytes()[offset:end]
    assert host_without_sftp.read_range("/proc/version", offset=6, length=7) == b"version"


def test_what_cannot_be_read_without_sftp(host_without_sftp: SshHost, tmp_path: Path) -> None:
    for path, kind in ((tmp_path / "none", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(kind) as caught:
            host_without_sftp.read_range(str(path))
        assert caught.value.filename == str(path)
