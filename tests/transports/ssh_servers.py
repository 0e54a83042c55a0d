"""SSH servers on loopback: one inside this process, a real OpenSSH, and a link to them that can fail."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from specdoctor.transports.ssh_known_hosts import HostKey, parse_public_key

LOOPBACK = "127.0.0.1"
QUOTE, ESCAPED = '"', '\\"'


@dataclass(frozen=True)
class KeyPair:
    """A key on disk; `path` is the private part, `path`.pub the public one."""

    path: Path
    public: HostKey
    public_line: str


def make_key(path: Path, *, kind: str = "ssh-ed25519", passphrase: str | None = None) -> KeyPair:
    options = {"key_size": 2048} if kind == "ssh-rsa" else {}
    private = asyncssh.generate_private_key(kind, comment="test key", **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Warning: bcrypt.kdf")  # a weak lock is quick to open, all we need
        private.write_private_key(path, passphrase=passphrase, rounds=1)
    path.chmod(0o600)
    line = private.export_public_key().decode("ascii").strip()
    Path(f"{path}.pub").write_text(line + "\n", encoding="ascii")
    public = parse_public_key(line.split())
    assert public is not None
    return KeyPair(path=path, public=public, public_line=" ".join(line.split()[:2]))


@dataclass
class Server:
    """A server that listens: where, with which host keys, and for whom."""

    port: int
    host_keys: tuple[KeyPair, ...]
    user: str

    def known_hosts(self, *, name: str | None = None) -> str:
        """The lines a user's known_hosts file needs for it."""
        shown = name or f"[{LOOPBACK}]:{self.port}"
        return "".join(f"{shown} {key.public_line}\n" for key in self.host_keys)


class _Account(asyncssh.SSHServer):
    """Lets in whoever holds an allowed key, forwards connections, and counts what happens."""

    def __init__(self, owner: InProcessServer) -> None:
        self._owner = owner

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._owner.connections.append(conn)

    def begin_auth(self, username: str) -> bool:
        return True

    def kbdint_auth_supported(self) -> bool:
        return bool(self._owner.code) or super().kbdint_auth_supported()

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> asyncssh.KbdIntChallenge:
        return "", "", "", [("One-time code: ", False)]

    def validate_kbdint_response(self, username: str, responses: asyncssh.KbdIntResponse) -> bool:
        return list(responses) == [self._owner.code]

    def public_key_auth_supported(self) -> bool:
        return self._owner.allowed is not None

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return False

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        self._owner.keys_seen.append(key.get_fingerprint())
        return key.export_public_key().decode("ascii").split()[1] in (self._owner.allowed or ())

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        self._owner.forwards.append((dest_host, dest_port))
        return self._owner.forwards_allowed


@dataclass
class InProcessServer:
    """An SSH server in a thread of this process: runs commands by `shell -c`, as a login shell would.

    With `code` it also lets in whoever answers its question with that.
    """

    host_keys: Sequence[KeyPair]
    allowed: frozenset[str] | None
    shell: str = "/bin/sh"
    sftp: bool = True
    forwards_allowed: bool = True
    code: str = ""
    connections: list[asyncssh.SSHServerConnection] = field(default_factory=list)
    keys_seen: list[str] = field(default_factory=list)
    forwards: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ssh-server", daemon=True)
        self._thread.start()
        self._listener = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(timeout=20)
        self.server = Server(port=self._listener.get_port(), host_keys=tuple(self.host_keys), user="tester")

    async def _listen(self) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            LOOPBACK,
            0,
            server_factory=lambda: _Account(self),
            server_host_keys=[str(key.path) for key in self.host_keys],
            process_factory=self._serve,
            sftp_factory=self.sftp or None,
            encoding=None,
        )

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        command = await asyncio.create_subprocess_exec(
            self.shell,
            "-c",
            process.command or "",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        # The library hands signals to whoever reads standard input, which ends before most commands do.
        process.signal_received = lambda name: _signal_group(command.pid, name)  # type: ignore[method-assign]
        feeder = asyncio.create_task(_feed(process, command))
        with contextlib.suppress(asyncssh.Error, OSError):
            await asyncio.gather(_drain(command.stdout, process.stdout), _drain(command.stderr, process.stderr))
        code = await command.wait()
        feeder.cancel()
        if code >= 0:
            process.exit(code)
        else:
            process.exit_with_signal(signal.Signals(-code).name.removeprefix("SIG"))

    def close(self) -> None:
        if self._loop.is_closed():
            return

        async def stop() -> None:
            self._listener.close()
            for connection in self.connections:
                connection.abort()
            await self._listener.wait_closed()

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(timeout=20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=20)
        self._loop.close()


async def _feed(process: asyncssh.SSHServerProcess[bytes], command: asyncio.subprocess.Process) -> None:
    assert command.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError, asyncssh.Error):
        while data := await process.stdin.read(65536):
            command.stdin.write(data)
            await command.stdin.drain()
    command.stdin.close()


def _signal_group(leader: int, name: str) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.Signals[f"SIG{name}"])


async def _drain(source: asyncio.StreamReader | None, sink: asyncssh.SSHWriter[bytes]) -> None:
    assert source is not None
    while data := await source.read(65536):
        sink.write(data)
        await sink.drain()


class OpenSshServer:
    """A real sshd on loopback, with keys and accounts of its own; it runs as whoever runs the tests.

    `options` are configuration lines; they come first, and sshd takes the first line of a kind. `forced` is a command
    that every key is tied to; `runs_as` another account to run sshd as (the caller is root then), `wrapper` a command
    that runs sshd.
    """

    def __init__(
        self,
        folder: Path,
        host_keys: Sequence[KeyPair],
        allowed: Sequence[KeyPair],
        *options: str,
        forced: str = "",
        runs_as: str = "",
        wrapper: Sequence[str] = (),
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        accounts = folder / "authorized_keys"
        tied = f'command="{forced.replace(QUOTE, ESCAPED)}" ' if forced else ""
        accounts.write_text("".join(f"{tied}{key.public_line}\n" for key in allowed), encoding="ascii")
        config = folder / "sshd_config"
        lines = [*options, f"Port {port}", f"ListenAddress {LOOPBACK}", f"AuthorizedKeysFile {accounts}"]
        lines += ["StrictModes no", "UsePAM no", "PidFile none"]
        lines += ["PasswordAuthentication no", "KbdInteractiveAuthentication no"]
        lines += [f"HostKey {key.path}" for key in host_keys]
        lines.append("SetEnv SHLVL=5")  # or bash would read the start files of whoever runs the tests
        if not any(line.startswith("Subsystem") for line in options):
            lines.append("Subsystem sftp internal-sftp")
        config.write_text("\n".join(lines) + "\n", encoding="ascii")
        self._log = (folder / "sshd.log").open("wb")
        argv = ["runuser", "-u", runs_as, "--"] if runs_as else list(wrapper)
        argv += [sshd_program(), "-D", "-e", "-f", str(config)]
        self._process = subprocess.Popen(argv, stderr=self._log)
        self.server = Server(port=port, host_keys=tuple(host_keys), user=runs_as or own_name())
        _await_port(port)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=10)
        self._log.close()


def sshd_program() -> str:
    """Where sshd is (it insists on being started by its full path), or nothing."""
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin:/sbin") or ""


def why_no_sshd() -> str:
    """Why a real sshd cannot be started here, or nothing if it can."""
    if not sshd_program():
        return "no sshd on this machine (Debian: apt-get install openssh-server)"
    if os.getuid() == 0 and not Path("/run/sshd").is_dir():
        try:
            Path("/run/sshd").mkdir(mode=0o755)
        except OSError:
            return "sshd needs /run/sshd when root starts it"
    return ""


def own_name() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _await_port(port: int) -> None:
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens on port {port}")


class Link:
    """A TCP relay to a port that can be frozen (nothing passes, nobody is told) or cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._open = threading.Event()
        self._open.set()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        self._open.clear()

    def thaw(self) -> None:
        self._open.set()

    def cut(self) -> None:
        """Break what is connected now; new connections are relayed."""
        sockets, self._sockets = self._sockets, []
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def close(self) -> None:
        self._open.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection((LOOPBACK, self._target))
            except OSError:
                return
            self._sockets += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._relay, args=(source, sink), daemon=True).start()

    def _relay(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._open.wait()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
