"""One command on one session channel: bytes in, bytes out, until it ends or its time is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import paramiko
from paramiko.ssh_exception import SSHException

from specdoctor.transports.exec_line import HOST_KILL_AFTER_S, HOST_LIMIT_MARGIN_S
from specdoctor.transports.reply import Outcome, Overdue, Reply, RequestFailed

TERM_GRACE_S = 1.0
KILL_GRACE_S = HOST_LIMIT_MARGIN_S + HOST_KILL_AFTER_S + 1.0
"""Long enough to see the host's own limit end a command that the server does not signal for us."""

NO_STATUS = -1
_POLL_S = 0.1
_DRAIN_S = 0.02
_CHUNK_BYTES = 65536
_MSG_CHANNEL_REQUEST = 98  # RFC 4254, section 9


class _DeadlinePassed(Exception):
    """Not a TimeoutError, which `on_line` may raise too."""


class Exchange:
    """Drives a session channel (paramiko's) on which nothing has been requested yet.

    Standard output and input are moved by threads of their own and standard error by the caller's, so that no stream
    can block another and `on_line` is called in the thread that waits for the command.
    """

    def __init__(
        self,
        channel: Any,
        *,
        stdin: bytes,
        deadline: float,
        reply: Reply,
    ) -> None:
        self._channel = channel
        self._stdin = memoryview(stdin)
        self._deadline = deadline
        self._reply = reply

    def run(self, line: str) -> Outcome:
        """Send the exec request and wait for the command's end.

        Raises Overdue after the deadline (monotonic clock), and RequestFailed. Whatever else ends the wait (an
        interrupt, an error in `on_line`), the command is asked to stop.
        """
        self._request(line)
        finished = False
        try:
            code = self._pump()
            finished = True
        except _DeadlinePassed as error:
            finished = True
            raise Overdue(ended=self._stop()) from error
        finally:
            if not finished:
                self._stop()
        return self._reply.outcome(None if code == NO_STATUS else code)

    def _request(self, line: str) -> None:

        try:
            with closing_at(self._channel, self._deadline):
                self._channel.exec_command(line)
        except (SSHException, EOFError, OSError) as error:
            if time.monotonic() >= self._deadline:
                raise Overdue(ended=False) from error
            raise RequestFailed(str(error)) from error

    def _pump(self) -> int:
        """Move all streams to their ends; the exit status, or NO_STATUS. Raises _DeadlinePassed."""
        self._channel.settimeout(_POLL_S)
        reader = threading.Thread(target=self._read_stdout, name="ssh-stdout", daemon=True)
        reader.start()
        if self._stdin:
            threading.Thread(target=self._feed_stdin, name="ssh-stdin", daemon=True).start()
        else:
            self._channel.shutdown_write()
        for chunk in self._chunks(self._channel.recv_stderr, each_time=self._remaining_s):
            self._reply.err(chunk)
        self._reply.end()
        reader.join(self._remaining_s())
        if reader.is_alive() or not self._channel.status_event.wait(self._remaining_s()):
            raise _DeadlinePassed
        return int(self._channel.exit_status)

    def _remaining_s(self) -> float:
        remaining_s = self._deadline - time.monotonic()
        if remaining_s <= 0:
            raise _DeadlinePassed
        return remaining_s

    def _read_stdout(self) -> None:
        for chunk in self._chunks(self._channel.recv):
            self._reply.out(chunk)

    def _chunks(
        self, receive: Callable[[int], bytes], *, each_time: Callable[[], object] | None = None
    ) -> Iterator[bytes]:
        """What a stream brings until it ends or the link breaks; `each_time` is called at least every _POLL_S."""

        while True:
            chunk: bytes | None = None
            try:
                chunk = receive(_CHUNK_BYTES)
            except TimeoutError:
                pass
            except (OSError, EOFError, SSHException):
                return
            if chunk:
                yield chunk
            elif chunk is not None:
                return
            if each_time:
                each_time()

    def _feed_stdin(self) -> None:

        unsent = self._stdin
        try:
            while unsent and not self._channel.closed:
                try:
                    sent = self._channel.send(unsent[:_CHUNK_BYTES].tobytes())
                except TimeoutError:
                    continue
                unsent = unsent[sent:]
            self._channel.shutdown_write()
        except (OSError, EOFError, SSHException):
            return  # a command may end without reading its input; a broken link shows in the other streams

    def _stop(self) -> bool:
        """Ask the command and its children to end (TERM, then KILL); True if the server confirms that they have."""
        for name, grace_s in (("TERM", TERM_GRACE_S), ("KILL", KILL_GRACE_S)):
            if not self._send_signal(name):
                return False
            give_up = time.monotonic() + grace_s
            while time.monotonic() < give_up:
                if self._channel.status_event.wait(_DRAIN_S):
                    return bool(self._channel.transport.is_active())
                if self._channel.recv_stderr_ready():
                    self._channel.recv_stderr(_CHUNK_BYTES)
        return False

    def _send_signal(self, name: str) -> bool:

        if not self._channel.transport.is_active() or self._channel.closed:
            return False
        message = paramiko.Message()
        message.add_byte(bytes([_MSG_CHANNEL_REQUEST]))
        message.add_int(self._channel.remote_chanid)
        message.add_string("signal")
        message.add_boolean(False)
        message.add_string(name)
        try:
            # The library has no call for the signal request of RFC 4254, section 6.9.
            self._channel.transport._send_user_message(message)  # noqa: SLF001
        except (OSError, EOFError, SSHException):
            return False
        return True


@contextmanager
def closing_at(channel: Any, deadline: float) -> Iterator[None]:
    """Close `channel` at the deadline, which wakes up library calls that have no timeout of their own."""
    alarm = threading.Timer(max(0.0, deadline - time.monotonic()), channel.close)
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()
