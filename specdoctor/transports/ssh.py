"""A host over SSH: one connection, a channel for each command."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Self

from paramiko.ssh_exception import SSHException

from specdoctor.core.errors import CommandTimeout, TargetError
from specdoctor.core.host import CommandResult
from specdoctor.transports.endings import (
    link_lost,
    no_exit_status,
    no_session,
    none_free,
    request_refused,
    timed_out,
)
from specdoctor.transports.errand import Errand
from specdoctor.transports.reply import Overdue, RequestFailed
from specdoctor.transports.ssh_connection import Connection, connect_route
from specdoctor.transports.ssh_exchange import Exchange
from specdoctor.transports.ssh_host_key import Notice
from specdoctor.transports.ssh_keys import AskPassphrase, KeyRing
from specdoctor.transports.ssh_read import SftpFailed, read_by_command, read_by_sftp
from specdoctor.transports.ssh_route import SshRoute
from specdoctor.transports.ssh_sessions import SessionRefused, Sessions

READ_TIMEOUT_S = 120.0
_LINK_SETTLES_S = 0.5


class SshHost:
    """A host reached along a route; implements `specdoctor.core.host.Host`.

    Connects at the first use, or with `open`. Safe for concurrent `run` calls, which share the connection. A command
    that is under way when the connection breaks raises ConnectionLost; the next one connects again, keys and host key
    checked anew. `exec_channels` counts the commands sent.
    """

    def __init__(
        self,
        route: SshRoute,
        *,
        accept_new: bool = False,
        ask_passphrase: AskPassphrase | None = None,
        on_notice: Notice | None = None,
    ) -> None:
        self._route = route
        self._accept_new = accept_new
        self._keyring = KeyRing(ask_passphrase)
        self._notice: Notice = on_notice or (lambda _: None)
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._sessions: Sessions | None = None
        self._notes = route.notes
        self.exec_channels = 0

    @property
    def name(self) -> str:
        return self._route.target.alias

    @property
    def route(self) -> SshRoute:
        return self._route

    def open(self) -> Self:
        """Connect now.

        Raises HostUnreachable, HostKeyUnknown, HostKeyChanged or AuthenticationRefused.
        """
        self._live_sessions()
        return self

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = 30.0,
        max_output_bytes: int = 64 * 1024 * 1024,
        on_line: Callable[[str], None] | None = None,
    ) -> CommandResult:
        """Run `argv` under a POSIX shell, whatever the account's login shell; see `specdoctor.core.host.Host`.

        A program that does not exist is exit code 127; death by signal n is 128 + n. The bound on output counts for
        each stream. Raises CommandTimeout, ConnectionLost, and what `open` raises if a connection has to be made.
        """
        errand = Errand.of(argv, stdin=stdin, timeout_s=timeout_s, max_output_bytes=max_output_bytes, on_line=on_line)
        words = errand.words
        sessions = self._live_sessions()
        started = time.monotonic()
        deadline = started + timeout_s
        with self._session(sessions, words, deadline) as channel:
            with self._lock:
                self.exec_channels += 1
            exchange = Exchange(channel, stdin=stdin, deadline=deadline, reply=errand.reply)
            try:
                outcome = exchange.run(errand.line)
            except Overdue as error:
                raise timed_out(self.name, words, timeout_s, ended=error.ended) from error
            except RequestFailed as error:
                raise self._request_failed(words, sessions, error) from error
        if outcome.exit_code is None:
            raise self._no_exit_status(words, sessions)
        return errand.result(self.name, outcome, outcome.exit_code, started=started)

    def read_range(self, path: str, *, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of a remote file, at most 64 MiB, over SFTP or else with the host's own tools.

        A relative path starts at the account's home. Raises FileNotFoundError, PermissionError or IsADirectoryError
        with the path, and what `run` raises.
        """

        sessions = self._live_sessions()
        deadline = time.monotonic() + READ_TIMEOUT_S
        try:
            with sessions.sftp(deadline) as client:
                if client is not None:
                    return read_by_sftp(client, path, offset=offset, length=length)
        except TimeoutError as error:
            raise CommandTimeout(
                f"{self.name}: {path} could not be read within {READ_TIMEOUT_S:g} s",
                tried="SFTP",
                next_step="Read a smaller part of it.",
            ) from error
        except (SftpFailed, SessionRefused, SSHException):
            sessions.drop_sftp()
        return read_by_command(self, path, offset=offset, length=length)

    def close(self) -> None:
        """Close the connection; commands still running on it raise ConnectionLost."""
        with self._lock:
            connection, self._connection, self._sessions = self._connection, None, None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _live_sessions(self) -> Sessions:
        with self._lock:
            if self._connection is not None and self._sessions is not None:
                if self._connection.alive:
                    return self._sessions
                self._connection.close()
                self._connection = self._sessions = None
                self._notice(f"{self.name}: the connection was lost; connecting again")
            notes, self._notes = self._notes, ()
            for note in notes:
                self._notice(note)
            connection = connect_route(
                self._route, keyring=self._keyring, accept_new=self._accept_new, on_notice=self._notice
            )
            self._connection, self._sessions = connection, Sessions(connection.transport)
            return self._sessions

    @contextmanager
    def _session(self, sessions: Sessions, words: tuple[str, ...], deadline: float) -> Iterator[Any]:
        """A session for one command; what goes wrong before that is said as: it was not sent."""
        with ExitStack() as stack:
            try:
                channel = stack.enter_context(sessions.session(deadline))
            except SessionRefused as error:
                raise no_session(self.name, words, str(error)) from error
            except (TimeoutError, SSHException, EOFError, OSError) as error:
                if not self._link_is_up(sessions):
                    raise link_lost(self.name, words, sent=False) from error
                raise none_free(self.name, words) from error
            yield channel

    def _request_failed(self, words: tuple[str, ...], sessions: Sessions, error: RequestFailed) -> TargetError:
        if not self._link_is_up(sessions):
            return link_lost(self.name, words, sent=True)
        return request_refused(self.name, words, str(error))

    def _no_exit_status(self, words: tuple[str, ...], sessions: Sessions) -> TargetError:
        if not self._link_is_up(sessions):
            return link_lost(self.name, words, sent=True)
        return no_exit_status(self.name, words)

    @staticmethod
    def _link_is_up(sessions: Sessions) -> bool:
        # The library closes channels a moment before it calls the transport dead.
        sessions.transport.join(_LINK_SETTLES_S)
        return bool(sessions.transport.is_active())
