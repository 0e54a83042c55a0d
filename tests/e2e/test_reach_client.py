"""Whole commands through the system's own ssh client: what it asks, which way a resume goes, what is left of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdoctor.transports.openssh_master import LINGER_S
from tests.e2e.client import Client, under_way
from tests.e2e.practice import PROGRAM, Practice, eventually
from tests.e2e.reach import make_keys
from tests.e2e.terminal import Terminal
from tests.transports.conftest import SshHome
from tests.transports.host_contract import is_running
from tests.transports.ssh_servers import InProcessServer

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="the OpenSSH client is not installed")

CODE = "314159"
AT_ITS_OWN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes the terminal on standard input the one that programs find as /dev/tty."""


@pytest.fixture
def sockets(client: Client) -> Iterator[Path]:
    """The folder in which this client's control sockets lie; its path is short, as theirs have to be."""
    folder = Path(tempfile.mkdtemp(prefix="sd-"))
    client.besides["XDG_RUNTIME_DIR"] = str(folder)
    yield folder
    shutil.rmtree(folder)


def masters(sockets: Path) -> list[int]:
    """Processes of ssh that hold a control socket in this folder."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if str(sockets).encode() in line:
            found.append(int(path.parent.name))
    return found


def check_nothing_left(sockets: Path, *, within_s: float) -> None:
    assert eventually(lambda: not masters(sockets), within_s=within_s), masters(sockets)


def test_a_run_and_its_resume_go_the_same_way_and_nothing_is_left(lab: Practice, client: Client, sockets: Path) -> None:
    found, files = lab.running(), lab.files_at_home()
    command = client.start("investigate", *lab.target, "--ssh", "openssh", "--symptom", "slower than without", "--json")
    client.await_events(lambda events: under_way(events) == "watch", command)
    assert len(masters(sockets)) == 1
    ended = command.end()
    assert ended.code == 4, ended.err
    assert client.events()[0]["settings"]["ssh_transport"] == "openssh"
    check_nothing_left(sockets, within_s=10.0)
    resumed = client.run("investigate", "--resume", client.run_id, "--json")
    assert resumed.code == 4, resumed.err
    assert json.loads(resumed.out)["restored"] is None
    assert lab.running() == found
    assert lab.files_at_home() == files
    assert list(sockets.iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_a_command_that_is_ended_leaves_no_client_behind(
    lab: Practice, client: Client, sockets: Path, how: signal.Signals
) -> None:
    command = client.start("investigate", *lab.target, "--ssh", "openssh", "--symptom", "slow")
    client.await_events(lambda events: under_way(events) == "watch", command)
    (master,) = masters(sockets)
    command.process.send_signal(how)
    command.process.wait(30)
    check_nothing_left(sockets, within_s=LINGER_S + 20.0 if how == signal.SIGKILL else 10.0)
    assert not is_running(master)
    assert list(sockets.glob("*/s")) == []


def test_a_one_time_code_is_asked_for_by_ssh_on_the_terminal(client: Client, sockets: Path, tmp_path: Path) -> None:
    keys = make_keys(tmp_path)
    server = InProcessServer((keys.host,), None, code=CODE)
    try:
        home = SshHome(tmp_path)
        home.add("otp", server.server, key=keys.user)
        home.know(server.server.known_hosts())
        words = [str(PROGRAM), "probe", "ssh://otp", "--ssh-config", str(home.config)]
        terminal = Terminal(
            [sys.executable, "-c", AT_ITS_OWN_TERMINAL, *words],
            cwd=client.work,
            environment=client.environment,
            out=tmp_path / "out",
        )
        terminal.type(f"{CODE}\n".encode(), after="One-time code: ")
        code, out = terminal.end(within_s=60.0)
        assert code == 0, terminal.text
        assert "otp: no key is accepted; ssh asks for keyboard-interactive" in terminal.text
        assert CODE not in terminal.text
        assert json.loads(out)["host"]["uid"] == os.getuid()
        assert len(server.connections) == 2
    finally:
        server.close()
    check_nothing_left(sockets, within_s=10.0)
