"""A host over the system's own ssh client: whatever `ssh HOST` can log in to, with whatever it takes to do so."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Self

from specdoctor.core.host import CommandResult
from specdoctor.transports.endings import link_lost, no_exit_status, no_session, none_free, timed_out
from specdoctor.transports.errand import Errand
from specdoctor.transports.exec_line import signal_line
from specdoctor.transports.openssh_exchange import ANSWER_S, MuxExchange, SessionNotOpened
from specdoctor.transports.openssh_master import Master, MasterOrder
from specdoctor.transports.openssh_mux import ControlConnection, MuxGone
from specdoctor.transports.reply import Outcome, Overdue
from specdoctor.transports.ssh_host_key import Notice
from specdoctor.transports.ssh_read import read_by_command

REFUSAL_PATIENCE_S = 1.0
"""A server frees a session a moment after its channel closed; refusals that last longer than this are meant."""

_RETRY_S = 0.1
_LINK_SETTLES_S = 0.5


class OpenSshHost:
    """A host reached by the system's ssh client; implements `specdoctor.core.host.Host`.

    Connects at the first use, or with `open`, and again when the connection was lost. Safe for concurrent `run` calls,
    which share the connection; `exec_channels` counts the commands sent.
    """

    def __init__(self, order: MasterOrder, *, on_notice: Notice | None = None) -> None:
        self._order = order
        self._notice: Notice = on_notice or (lambda _: None)
        self._lock = threading.Lock()
        self._master: Master | None = None
        self._freed = threading.Condition()
        self._open_sessions = 0
        self.exec_channels = 0

    @property
    def name(self) -> str:
        return self._order.destination.host

    def open(self) -> Self:
        """Connect now.

        Raises HostUnreachable, HostKeyUnknown, HostKeyChanged or AuthenticationRefused with what ssh said, and
        UsageError where there is no ssh client.
        """
        self._live_master()
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
        master = self._live_master()
        started = time.monotonic()
        outcome = self._carried_out(master, errand, deadline=started + timeout_s)
        if outcome.exit_code is None:
            up = self._is_up(master)
            raise no_exit_status(self.name, errand.words) if up else link_lost(self.name, errand.words, sent=True)
        return errand.result(self.name, outcome, outcome.exit_code, started=started)

    def read_range(self, path: str, *, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of a remote file, at most 64 MiB, with the host's own tools.

        A relative path starts at the account's home. Raises FileNotFoundError, PermissionError or IsADirectoryError
        with the path, and what `run` raises.
        """
        return read_by_command(self, path, offset=offset, length=length)

    def close(self) -> None:
        """End the client; commands still running over it raise ConnectionLost."""
        with self._lock:
            master, self._master = self._master, None
        if master is not None:
            master.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _live_master(self) -> Master:
        with self._lock:
            if self._master is not None:
                if self._master.alive:
                    return self._master
                self._master.close()
                self._master = None
                self._notice(f"{self.name}: the connection was lost; connecting again")
            self._master = Master(self._order, on_notice=self._notice)
            return self._master

    def _carried_out(self, master: Master, errand: Errand, *, deadline: float) -> Outcome:
        """One command to its end; a session that the host does not open yet is asked for again."""
        refused_since: float | None = None
        while True:
            try:
                return self._attempt(master, errand, deadline=deadline)
            except SessionNotOpened as error:
                now = time.monotonic()
                refused_since = refused_since if refused_since and not self._open_sessions else now
                if now - refused_since > REFUSAL_PATIENCE_S:
                    raise no_session(self.name, errand.words, str(error)) from error
                if now >= deadline:
                    raise none_free(self.name, errand.words) from error
            except Overdue as error:
                raise timed_out(self.name, errand.words, errand.timeout_s, ended=error.ended) from error
            except MuxGone as error:
                raise link_lost(self.name, errand.words, sent=False) from error
            with self._freed:
                self._freed.wait(_RETRY_S)

    def _attempt(self, master: Master, errand: Errand, *, deadline: float) -> Outcome:
        """Raises SessionNotOpened, Overdue, and MuxGone while nothing was sent."""
        with ExitStack() as stack:
            control = stack.enter_context(ControlConnection(master.path, timeout_s=ANSWER_S))
            signals = stack.enter_context(_Signals(master, errand.token))
            exchange = MuxExchange(
                control,
                stdin=errand.stdin,
                deadline=deadline,
                reply=errand.reply,
                signal=signals.send,
                on_open=lambda: stack.enter_context(self._counted()),
            )
            return exchange.run(errand.line)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._freed:
            self._open_sessions += 1
            self.exec_channels += 1
        try:
            yield
        finally:
            with self._freed:
                self._open_sessions -= 1
                self._freed.notify()

    @staticmethod
    def _is_up(master: Master) -> bool:
        # A session's end is told a moment before the master itself is seen to end.
        give_up = time.monotonic() + _LINK_SETTLES_S
        while master.alive and time.monotonic() < give_up:
            time.sleep(_RETRY_S / 5)
        return master.alive


class _Signals:
    """Sessions that signal a command on the host; each stays open until the command's end has been waited for."""

    def __init__(self, master: Master, token: str) -> None:
        self._master = master
        self._token = token
        self._connections = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connections.close()

    def send(self, pid: int, name: str) -> None:
        """Send it if the host opens a session for that; what cannot be sent is left to the host's own limit."""
        try:
            control = self._connections.enter_context(ControlConnection(self._master.path, timeout_s=ANSWER_S))
            with open(os.devnull, "r+b", buffering=0) as nothing:  # noqa: PTH123
                streams = [nothing.fileno()] * 3
                control.ask_for_session(signal_line(pid, self._token, name), streams, timeout_s=ANSWER_S)
        except MuxGone:
            return
