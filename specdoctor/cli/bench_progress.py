"""How far a block of a benchmark is, on standard error: a line that changes on a terminal, else one now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from specdoctor.core.operations import Progress

QUIET_S = 2.0
"""A block that is shorter says nothing of itself."""
EVERY_S = 5.0


class BlockProgress:
    """Told of each block as it begins (`block`) and of its steps (`step`)."""

    def __init__(self, *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._begun = clock()
        self._shown_at: float | None = None
        self._drawn = 0

    def block(self, text: str) -> None:
        """A block begins: `text` is a line of its own."""
        self.end()
        self._stream.write(text + "\n")
        self._stream.flush()
        self._begun, self._shown_at = self._clock(), None

    def step(self, progress: Progress) -> None:
        """A step inside the block; shown once the block has lasted a while."""
        from specdoctor.render.screen import progress_parts

        now = self._clock()
        if now - self._begun < QUIET_S:
            return
        words = "  " + ", ".join(progress_parts(progress))
        if self._stream.isatty():
            self._stream.write("\r" + words.ljust(self._drawn))
            self._drawn = len(words)
            self._stream.flush()
        elif self._shown_at is None or now - self._shown_at >= EVERY_S:
            self._shown_at = now
            self._stream.write(words + "\n")
            self._stream.flush()

    def end(self) -> None:
        """Take the line that changes away."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
        self._drawn = 0
