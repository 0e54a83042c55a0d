"""Standard error that outlives its reader: a closed terminal, a pipe into `head`, a full disk must not stop a run.

A run that has changed a server has to put it back, whether or not anybody can be told.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast


class Lasting:
    """A text stream like the one it wraps, whose writing never fails.

    When nobody can be written to any more, `when_lost` is called once and everything after that goes nowhere.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lost = False
        self.when_lost: Callable[[], None] | None = None

    def write(self, text: str) -> int:
        if not self._lost:
            try:
                return self._stream.write(text)
            except OSError:
                self._lose()
        return len(text)

    def flush(self) -> None:
        if not self._lost:
            try:
                self._stream.flush()
            except OSError:
                self._lose()

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _lose(self) -> None:
        self._lost = True
        # What is still buffered must not fail either, when the interpreter ends.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        if self.when_lost is not None:
            self.when_lost()


@contextmanager
def lasting_stderr() -> Iterator[None]:
    """Inside, writing to standard error does not fail."""
    before = sys.stderr
    if before is None or isinstance(before, Lasting):
        yield
        return
    sys.stderr = cast(TextIO, Lasting(before))
    try:
        yield
    finally:
        sys.stderr = before


@contextmanager
def hang_up_when_lost() -> Iterator[None]:
    """Inside, losing the reader of standard error counts as a hang-up (SIGHUP) of this process."""
    stream = sys.stderr
    if not isinstance(stream, Lasting):
        yield
        return
    stream.when_lost = lambda: os.kill(os.getpid(), signal.SIGHUP)
    try:
        yield
    finally:
        stream.when_lost = None
