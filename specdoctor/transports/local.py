"""This machine as a host (`local:`): the same promises as over SSH, with subprocesses."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Self

from specdoctor.core.errors import CommandTimeout
from specdoctor.core.host import CommandResult
from specdoctor.core.input_file import open_input
from specdoctor.transports.exec_line import checked_argv, program_name
from specdoctor.transports.output import Capture, LineFeed

MAX_READ_BYTES = 64 * 1024 * 1024
STOP_GRACE_S = 2.0
_CHUNK_BYTES = 65536
EXIT_NOT_EXECUTABLE = 126
EXIT_NOT_FOUND = 127


class LocalHost:
    """Runs commands on this machine, each in a session of its own so that a timeout stops its children too.

    Safe for concurrent `run` calls. Commands start in the current directory.
    """

    @property
    def name(self) -> str:
        return "local"

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = 30.0,
        max_output_bytes: int = 64 * 1024 * 1024,
        on_line: Callable[[str], None] | None = None,
    ) -> CommandResult:
        """Run `argv` and wait for it; see `specdoctor.core.host.Host`.

        A program that does not exist is exit code 127 and one that may not be run 126, as a shell reports them; death
        by signal n is 128 + n. Raises CommandTimeout.
        """
        words = checked_argv(argv)
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (FileNotFoundError, NotADirectoryError) as error:
            return _not_started(words, EXIT_NOT_FOUND, error, on_line)
        except OSError as error:
            return _not_started(words, EXIT_NOT_EXECUTABLE, error, on_line)
        out, err = Capture(max_output_bytes), Capture(max_output_bytes)
        finished = False
        try:
            _Exchange(process, stdin, out, err, LineFeed(on_line)).until(started + timeout_s)
            code = process.wait(timeout=max(0.0, started + timeout_s - time.monotonic()))
            finished = True
        except (_DeadlinePassed, subprocess.TimeoutExpired) as error:
            raise CommandTimeout(
                f"local: {program_name(words)} did not end within {timeout_s:g} s and was stopped",
                tried="TERM, then KILL, to the command and its children",
                next_step="Give it more time, or look at why it hangs.",
            ) from error
        finally:
            if not finished:
                _stop(process)
            _close_pipes(process)
        return CommandResult(
            argv=words,
            exit_code=code if code >= 0 else 128 - code,
            stdout=out.data,
            stderr=err.data,
            duration_s=time.monotonic() - started,
            truncated=out.truncated or err.truncated,
        )

    def read_range(self, path: str, *, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of a file, at most 64 MiB. Raises FileNotFoundError, PermissionError, IsADirectoryError."""
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        with open_input(path, pipes=False) as file:
            file.seek(offset)
            return file.read(MAX_READ_BYTES if length is None else min(length, MAX_READ_BYTES))

    def close(self) -> None:
        """Nothing to close."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _DeadlinePassed(Exception):
    """Not a TimeoutError, which `on_line` may raise too."""


class _Exchange:
    """Moves bytes between a process and its captures until all its streams are closed."""

    def __init__(
        self, process: subprocess.Popen[bytes], stdin: bytes, out: Capture, err: Capture, lines: LineFeed
    ) -> None:
        self._process = process
        self._unsent = memoryview(stdin)
        self._out = out
        self._err = err
        self._lines = lines

    def until(self, deadline: float) -> None:
        """Pump until both outputs end; raises _DeadlinePassed at the deadline (monotonic clock)."""
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while selector.get_map():
                remaining_s = deadline - time.monotonic()
                if remaining_s <= 0:
                    raise _DeadlinePassed
                for key, _ in selector.select(timeout=remaining_s):
                    stream: IO[bytes] = key.data
                    if not self._move(stream):
                        selector.unregister(stream)
                        stream.close()
        self._lines.end()

    def _register(self, selector: selectors.BaseSelector) -> None:
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, stream)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            selector.register(self._process.stdin, selectors.EVENT_WRITE, self._process.stdin)

    def _move(self, stream: IO[bytes]) -> bool:
        """One step on a ready stream; False when the stream is at its end."""
        if stream is self._process.stdin:
            return self._send(stream)
        chunk = os.read(stream.fileno(), _CHUNK_BYTES)
        if stream is self._process.stderr:
            self._err.add(chunk)
            self._lines.add(chunk)
        else:
            self._out.add(chunk)
        return bool(chunk)

    def _send(self, stream: IO[bytes]) -> bool:
        try:
            sent = os.write(stream.fileno(), self._unsent[:_CHUNK_BYTES]) if self._unsent else 0
        except BrokenPipeError:
            return False
        self._unsent = self._unsent[sent:]
        return bool(self._unsent)


def _not_started(
    argv: tuple[str, ...], exit_code: int, error: OSError, on_line: Callable[[str], None] | None
) -> CommandResult:
    text = f"{argv[0]}: {error.strerror}\n".encode("utf-8", errors="surrogateescape")
    lines = LineFeed(on_line)
    lines.add(text)
    return CommandResult(argv=argv, exit_code=exit_code, stderr=text)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """TERM to the whole session, then KILL to what is left of it; does not wait for ever for what cannot die."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=STOP_GRACE_S)


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
