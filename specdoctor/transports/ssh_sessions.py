"""Session channels of one connection: opened one at a time, waited for when the server allows only a few."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from paramiko import SFTPClient
from paramiko.sftp import SFTPError
from paramiko.ssh_exception import ChannelException, SSHException

from specdoctor.transports.ssh_exchange import closing_at

OPEN_TIMEOUT_S = 30.0
REFUSAL_PATIENCE_S = 1.0
"""A server frees a session a moment after its channel closed; refusals that last longer than this are meant."""

_RETRY_S = 0.1


class SessionRefused(Exception):
    """The server opens no session although none is open."""


class Sessions:
    """Hands out session channels of an authenticated transport (paramiko's), and one file-transfer session.

    Opening is serialised: the library stores a refusal in a place all openings share. A refused opening waits for
    another session to end and tries again, so a server with MaxSessions 1 is merely slower. The file-transfer session
    stays open between reads and gives way when a command needs its place.
    """

    def __init__(self, transport: Any) -> None:
        self.transport = transport
        self._freed = threading.Condition()
        self._open = 0
        self._sftp_turn = threading.Lock()
        self._sftp: Any = None
        self._sftp_in_use = False
        self._sftp_missing = False

    @contextmanager
    def session(self, deadline: float) -> Iterator[Any]:
        """A fresh session channel, closed afterwards.

        Raises TimeoutError when none is free before the deadline (monotonic clock), SessionRefused, or paramiko's
        SSHException when the link is broken.
        """
        channel = self._acquire(deadline)
        try:
            yield channel
        finally:
            channel.close()
            self._release()

    @contextmanager
    def sftp(self, deadline: float) -> Iterator[Any]:
        """The file-transfer client for one caller at a time, or None if the server has no such service."""
        with self._sftp_turn:
            with self._freed:
                client = self._sftp
                self._sftp_in_use = client is not None
            if client is None and not self._sftp_missing:
                client = self._start_sftp(deadline)
            if client is not None:
                client.get_channel().settimeout(max(0.1, deadline - time.monotonic()))
            try:
                yield client
            finally:
                with self._freed:
                    self._sftp_in_use = False
                    self._freed.notify()

    def drop_sftp(self) -> bool:
        """Close the file-transfer session if nobody uses it; True if there was one."""
        with self._freed:
            if self._sftp is None or self._sftp_in_use:
                return False
            client, self._sftp = self._sftp, None
        client.close()
        self._release()
        return True

    def _acquire(self, deadline: float) -> Any:

        refused_since: float | None = None
        with self._freed:
            while True:
                now = time.monotonic()
                if now >= deadline:
                    raise TimeoutError
                try:
                    channel = self.transport.open_session(timeout=min(deadline - now, OPEN_TIMEOUT_S))
                except ChannelException as error:
                    if self.drop_sftp():
                        continue
                    refused_since = refused_since if refused_since and not self._open else now
                    if now - refused_since > REFUSAL_PATIENCE_S:
                        raise SessionRefused(error.text or f"code {error.code}") from error
                    self._freed.wait(min(deadline - now, _RETRY_S))
                else:
                    self._open += 1
                    return channel

    def _release(self) -> None:
        with self._freed:
            self._open -= 1
            self._freed.notify()

    def _start_sftp(self, deadline: float) -> Any:

        channel = self._acquire(deadline)
        try:
            with closing_at(channel, deadline):
                channel.invoke_subsystem("sftp")
                client = SFTPClient(channel)
        except (SSHException, SFTPError, EOFError, OSError):
            channel.close()
            self._release()
            self._sftp_missing = self.transport.is_active()
            return None
        with self._freed:
            self._sftp, self._sftp_in_use = client, True
        return client
