"""One command over a control socket: bytes in, bytes out, until it ends or its time is over."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable

from specdoctor.transports.exec_line import HOST_KILL_AFTER_S, HOST_LIMIT_MARGIN_S
from specdoctor.transports.openssh_mux import ControlConnection, MuxGone
from specdoctor.transports.reply import Outcome, Overdue, Reply

ANSWER_S = 20.0
"""A master answers at once unless its machine is overloaded; it does not wait for the host to do so."""

TERM_GRACE_S = 1.0
KILL_GRACE_S = HOST_LIMIT_MARGIN_S + HOST_KILL_AFTER_S + 1.0
"""Long enough to see the host's own limit end a command that could not be signalled."""

_CHUNK_BYTES = 65536

Signal = Callable[[int, str], None]
"""Sends the named signal to the command that runs as this process on the host."""


class SessionNotOpened(Exception):
    """The host (or the master) opened no session; nothing was sent to it."""


class _DeadlinePassed(Exception):
    """Not a TimeoutError, which `on_line` may raise too."""


class MuxExchange:
    """Drives one session of a master that nothing has been asked for yet, in the caller's thread alone."""

    def __init__(
        self,
        control: ControlConnection,
        *,
        stdin: bytes,
        deadline: float,
        reply: Reply,
        signal: Signal,
        on_open: Callable[[], object],
    ) -> None:
        self._control = control
        self._unsent = memoryview(stdin)
        self._deadline = deadline
        self._reply = reply
        self._signal = signal
        self._on_open = on_open
        self._selector = selectors.DefaultSelector()
        self._open: set[int] = set()
        self._outputs: set[int] = set()
        self._control_open = True
        self._discarding = False
        self._exit_code: int | None = None

    def run(self, line: str) -> Outcome:
        """Send the command and wait for its end; an exit code of None says that no exit status came.

        Raises SessionNotOpened, MuxGone when the master was lost before it took the request, and Overdue after the
        deadline (monotonic clock). Whatever else ends the wait, the command is asked to stop.
        """
        try:
            self._begin(line)
            finished = False
            try:
                self._pump(self._deadline)
                self._reply.end()
                finished = True
            except SessionNotOpened:
                finished = True
                raise
            except _DeadlinePassed as error:
                finished = True
                raise Overdue(ended=self._stop()) from error
            finally:
                if not finished:
                    self._stop()
            return self._reply.outcome(self._exit_code)
        finally:
            self._selector.close()
            for descriptor in self._open:
                os.close(descriptor)

    def _begin(self, line: str) -> None:
        ours_in, ours_out, ours_err, theirs = self._pipes()
        try:
            self._control.ask_for_session(line, theirs, timeout_s=ANSWER_S)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self._selector.register(self._control.fileno(), selectors.EVENT_READ, self._hear)
        self._outputs = {ours_out, ours_err}
        self._selector.register(ours_out, selectors.EVENT_READ, lambda: self._read(ours_out, self._reply.out))
        self._selector.register(ours_err, selectors.EVENT_READ, lambda: self._read(ours_err, self._reply.err))
        os.set_blocking(ours_in, False)
        self._selector.register(ours_in, selectors.EVENT_WRITE, lambda: self._feed(ours_in))

    def _pipes(self) -> tuple[int, int, int, tuple[int, int, int]]:
        """Our ends of standard input, output and error, and the three for the master."""
        their_in, ours_in = os.pipe()
        ours_out, their_out = os.pipe()
        ours_err, their_err = os.pipe()
        self._open |= {ours_in, ours_out, ours_err}
        return ours_in, ours_out, ours_err, (their_in, their_out, their_err)

    @property
    def _finished(self) -> bool:
        return not self._outputs and (self._exit_code is not None or not self._control_open)

    def _pump(self, deadline: float) -> None:
        """Move bytes until the command has ended. Raises _DeadlinePassed, SessionNotOpened."""
        while not self._finished:
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                raise _DeadlinePassed
            for key, _ in self._selector.select(timeout=remaining_s):
                if key.fd in self._selector.get_map():
                    key.data()

    def _hear(self) -> None:
        try:
            for note in self._control.notes():
                if note.kind == "refused":
                    raise SessionNotOpened(note.reason)
                if note.kind == "opened":
                    self._on_open()
                if note.kind == "exit":
                    self._exit_code = note.exit_code
        except MuxGone:
            self._control_open = False
            self._selector.unregister(self._control.fileno())

    def _read(self, descriptor: int, sink: Callable[[bytes], None]) -> None:
        chunk = os.read(descriptor, _CHUNK_BYTES)
        if not chunk:
            self._outputs.discard(descriptor)
            self._shut(descriptor)
        elif not self._discarding:
            sink(chunk)

    def _feed(self, descriptor: int) -> None:
        try:
            sent = os.write(descriptor, self._unsent[:_CHUNK_BYTES]) if self._unsent else 0
        except BrokenPipeError:  # a command may end without reading its input
            self._shut(descriptor)
            return
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._shut(descriptor)

    def _shut(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        self._open.discard(descriptor)
        os.close(descriptor)

    def _stop(self) -> bool:
        """Ask the command and its children to end (TERM, then KILL); True if the host confirms that they have."""
        self._discarding = True
        for name, grace_s in (("TERM", TERM_GRACE_S), ("KILL", KILL_GRACE_S)):
            if self._reply.pid is not None:
                self._signal(self._reply.pid, name)
            try:
                self._pump(time.monotonic() + grace_s)
            except _DeadlinePassed:
                continue
            except SessionNotOpened:
                return True
            return self._exit_code is not None
        return False
