"""The practice host as the system's own SSH clients see it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest

from specdoctor.lab.host import PracticeHost
from specdoctor.lab.jump_host import JumpHost, write_jump_config
from tests.lab.host_world import eventually, marked_processes, small_world

pytestmark = [
    pytest.mark.ssh,
    pytest.mark.skipif(shutil.which("ssh") is None or shutil.which("sftp") is None, reason="no OpenSSH client"),
]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PracticeHost]:
    with PracticeHost(small_world(), state_dir=tmp_path_factory.mktemp("ssh-host")) as started:
        yield started


def ssh(
    host: PracticeHost, *words: str, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = ["ssh", "-F", str(host.ssh_config), *words]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=30, check=False, env=env)


def test_exit_code_and_both_streams_arrive(host: PracticeHost) -> None:
    result = ssh(host, "lab", "echo out; echo err >&2; exit 7")
    assert (result.returncode, result.stdout, result.stderr) == (7, b"out\n", b"err\n")


def test_the_shell_is_that_of_the_world(host: PracticeHost) -> None:
    result = ssh(host, "lab", 'echo "$USER $HOME $HOST_PROC"; pwd; hostname; command -v nvidia-smi')
    home, state = str(host.home), str(host.state_dir)
    expected = [f"ml {home} {state}/proc", home, "gpu-01", f"{state}/bin/nvidia-smi"]
    assert result.stdout.decode().split("\n")[:-1] == expected


def test_nothing_of_the_own_environment_leaks(host: PracticeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVATE_THING", "do not show")
    assert b"PRIVATE_THING" not in ssh(host, "lab", "env").stdout


def test_five_megabytes_pass_both_ways_unchanged(host: PracticeHost) -> None:
    data = os.urandom(5_000_000)
    result = ssh(host, "lab", "cat; head -c 300000 /dev/zero >&2", stdin=data)
    assert result.stdout == data
    assert result.stderr == bytes(300_000)


def test_input_that_nobody_reads_does_no_harm(host: PracticeHost) -> None:
    result = ssh(host, "lab", "exit 3", stdin=bytes(5_000_000))
    assert result.returncode == 3


def test_the_end_of_input_reaches_the_command(host: PracticeHost) -> None:
    assert ssh(host, "lab", "wc -c", stdin=b"12345").stdout.strip() == b"5"


def test_a_shell_without_command_reads_its_input(host: PracticeHost) -> None:
    result = ssh(host, "-T", "lab", stdin=b"echo $((40 + 2))\nexit 4\n")
    assert (result.returncode, result.stdout) == (4, b"42\n")


@pytest.mark.parametrize("terminal", [{"TERM": "xterm"}, {}], ids=["named", "nameless"])
def test_a_terminal_is_a_terminal(host: PracticeHost, terminal: dict[str, str]) -> None:
    surroundings = {name: value for name, value in os.environ.items() if name != "TERM"} | terminal
    result = ssh(host, "-tt", "lab", "tty; test -t 1 && exit 6", env=surroundings)
    assert result.returncode == 6
    assert result.stdout.startswith(b"/dev/pts/")


def test_an_interactive_shell_ends_with_its_input(host: PracticeHost) -> None:
    result = ssh(host, "-tt", "lab", stdin=b"echo got-$((1 + 1))\n")
    assert result.returncode == 0
    assert b"got-2" in result.stdout


def test_death_by_a_signal_is_reported_as_such(host: PracticeHost) -> None:
    async def run() -> tuple[str, str]:
        async with connect(host) as connection:
            ended = await connection.run("kill -KILL $$")
            waiting = await connection.create_process("exec sleep 30")
            waiting.send_signal("TERM")
            stopped = await waiting.wait()
            assert ended.exit_signal is not None
            assert stopped.exit_signal is not None
            return ended.exit_signal[0], stopped.exit_signal[0]

    assert asyncio.run(run()) == ("KILL", "TERM")


def connect(host: PracticeHost) -> asyncssh.SSHClientConnection:
    return asyncssh.connect(
        "127.0.0.1",
        host.port,
        username=host.user,
        client_keys=[str(host.client_key_path)],
        known_hosts=str(host.known_hosts),
        config=[],
    )


def test_a_session_ends_when_nothing_holds_its_output(host: PracticeHost) -> None:
    started = ssh(host, "lab", "sleep 0.3 & echo first")
    detached = ssh(host, "lab", "nohup sleep 60 > /dev/null 2>&1 & echo $!")
    assert started.stdout == b"first\n"
    assert int(detached.stdout) in marked_processes(host.host_id)


def test_another_key_is_refused(host: PracticeHost, tmp_path: Path) -> None:
    stranger = tmp_path / "key"
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(stranger)
    stranger.chmod(0o600)
    config = host.ssh_config.read_text().replace(str(host.client_key_path), str(stranger))
    (tmp_path / "config").write_text(config)
    command = ["ssh", "-F", str(tmp_path / "config"), "lab", "true"]
    result = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert result.returncode == 255
    assert b"Permission denied (publickey)" in result.stderr


def test_another_user_is_refused(host: PracticeHost) -> None:
    result = ssh(host, "-l", "root", "lab", "true")
    assert result.returncode == 255
    assert b"Permission denied" in result.stderr


def test_a_changed_host_key_is_noticed(host: PracticeHost, tmp_path: Path) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode().split()
    (tmp_path / "known").write_text(f"[127.0.0.1]:{host.port} {other[0]} {other[1]}\n")
    result = ssh(host, "-o", f"UserKnownHostsFile={tmp_path / 'known'}", "lab", "true")
    assert result.returncode == 255
    assert b"REMOTE HOST IDENTIFICATION HAS CHANGED" in result.stderr


def test_sftp_starts_at_home_and_copies_both_ways(host: PracticeHost, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "up").write_bytes(data)
    batch = f"pwd\nput {tmp_path / 'up'} kept\nget kept {tmp_path / 'down'}\nls {host.state_dir}/bin/python3\n"
    command = ["sftp", "-F", str(host.ssh_config), "-b", "-", "lab"]
    result = subprocess.run(command, input=batch.encode(), capture_output=True, timeout=30, check=False)
    assert result.returncode == 0, result.stderr
    assert f"Remote working directory: {host.home}".encode() in result.stdout
    assert (tmp_path / "down").read_bytes() == (host.home / "kept").read_bytes() == data


@pytest.fixture
def greeter() -> Iterator[int]:
    """A service on loopback that greets and hangs up; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def greet() -> None:
        connection, _ = listener.accept()
        connection.sendall(b"hello from behind\n")
        connection.close()

    thread = threading.Thread(target=greet, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.close()


def test_it_forwards_to_loopback(host: PracticeHost, greeter: int) -> None:
    assert ssh(host, "-W", f"127.0.0.1:{greeter}", "lab").stdout == b"hello from behind\n"


def test_it_forwards_nowhere_else(host: PracticeHost) -> None:
    result = ssh(host, "-W", "192.0.2.1:80", "lab")
    assert result.returncode == 255
    assert b"loopback only" in result.stderr


def test_a_port_of_the_client_can_be_forwarded(host: PracticeHost, greeter: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        local = probe.getsockname()[1]
    command = ["ssh", "-F", str(host.ssh_config), "-N", "-L", f"127.0.0.1:{local}:127.0.0.1:{greeter}", "lab"]
    with subprocess.Popen(command) as client:
        try:
            assert eventually(lambda: _listens(local))
            with socket.create_connection(("127.0.0.1", local), timeout=5) as connection:
                assert connection.recv(100) == b"hello from behind\n"
        finally:
            client.terminate()


def _listens(port: int) -> bool:
    entries = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[1] == f"0100007F:{port:04X}" and line.split()[3] == "0A" for line in entries)


def test_the_host_is_reached_through_a_jump_host(host: PracticeHost, tmp_path: Path) -> None:
    with JumpHost(state_dir=tmp_path / "jump", client_key=host.access.client_key) as jump:
        write_jump_config(tmp_path / "config", host, jump)
        command = ["ssh", "-F", str(tmp_path / "config")]
        through = subprocess.run([*command, "lab", "hostname"], capture_output=True, timeout=30, check=False)
        into = subprocess.run([*command, "jump", "hostname"], capture_output=True, timeout=30, check=False)
    assert (through.returncode, through.stdout) == (0, b"gpu-01\n")
    assert into.returncode != 0
    assert into.stdout == b""
