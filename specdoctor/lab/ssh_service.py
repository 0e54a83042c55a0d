"""An SSH server on loopback in a background thread: sessions, SFTP and forwarding to loopback only."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

import asyncssh

from specdoctor.lab.errors import LabError
from specdoctor.lab.ssh_access import LOOPBACK, SshAccess
from specdoctor.lab.ssh_session import SessionPlace, serve_session
from specdoctor.lab.ssh_tunnel import Tunnel

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1", "ip6-localhost"})
T = TypeVar("T")

START_TIMEOUT_S = 15.0
STOP_TIMEOUT_S = 10.0


class SshService:
    """Accepts one user with one key. `place` None: forwarding only, no commands and no files (a jump host)."""

    def __init__(self, access: SshAccess, *, user: str, port: int = 0, place: SessionPlace | None = None) -> None:
        self._access = access
        self._user = user
        self._wanted_port = port
        self._place = place
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self.port = 0

    def start(self) -> int:
        """Listen; returns the port. Raises LabError when the port is taken."""
        loop = asyncio.new_event_loop()
        self._loop = loop
        self._thread = threading.Thread(target=self._run, args=(loop,), name="practice-ssh", daemon=True)
        self._thread.start()
        try:
            self._acceptor = self._call(self._listen(), timeout_s=START_TIMEOUT_S)
        except OSError as error:
            self.stop()
            raise LabError(
                f"the practice host cannot listen on {LOOPBACK}:{self._wanted_port}: {error.strerror or error}",
                next_step="leave the port out to get a free one",
            ) from error
        self.port = self._acceptor.get_port()
        return self.port

    def stop(self) -> None:
        """Close the port, cut every connection, end the thread."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._call(self._close(), timeout_s=STOP_TIMEOUT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(STOP_TIMEOUT_S)
        self._loop = self._thread = self._acceptor = None

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    def _call(self, work: Coroutine[Any, Any, T], *, timeout_s: float) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    async def _listen(self) -> asyncssh.SSHAcceptor:
        options: dict[str, Any] = {}
        place = self._place
        if place is not None:
            options["process_factory"] = lambda process: serve_session(process, place)
            options["sftp_factory"] = lambda channel: _HomeSftp(channel, place)
            options["allow_scp"] = False
        return await asyncssh.create_server(
            lambda: _OneUser(self._user, self._access.client_key, self._connections),
            host=LOOPBACK,
            port=self._wanted_port,
            server_host_keys=[self._access.host_key],
            encoding=None,
            line_editor=False,
            gss_host=None,
            password_auth=False,
            kbdint_auth=False,
            compression_algs=None,
            server_version="OpenSSH_9.6p1",
            **options,
        )

    async def _close(self) -> None:
        if self._acceptor is not None:
            self._acceptor.close()
        for connection in list(self._connections):
            connection.abort()
        running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class _OneUser(asyncssh.SSHServer):
    """One user, one key; forwarding only between loopback addresses."""

    def __init__(self, user: str, key: asyncssh.SSHKey, connections: set[asyncssh.SSHServerConnection]) -> None:
        self._user = user
        self._key = key.convert_to_public()
        self._connections = connections
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connection is not None:
            self._connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == self._user and key == self._key

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> Awaitable[Tunnel]:
        if dest_host in LOOPBACK_NAMES:
            return Tunnel.to(dest_host, dest_port)
        raise asyncssh.ChannelOpenError(
            asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED,
            f"the practice host forwards to loopback only, not to {dest_host}",
        )

    def server_requested(self, listen_host: str, listen_port: int) -> bool:
        return listen_host in LOOPBACK_NAMES


class _HomeSftp(asyncssh.SFTPServer):
    """Files of this machine as this account sees them; relative paths start at the practice home."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], place: SessionPlace) -> None:
        super().__init__(channel)
        self._home = os.fsencode(place.home)

    def map_path(self, path: bytes) -> bytes:
        return path if path.startswith(b"/") else self._home + b"/" + path
