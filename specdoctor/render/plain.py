"""Plain lines for a pipe or a log: one event after the other on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from specdoctor.core.events import Event
from specdoctor.core.ledger import Ledger
from specdoctor.core.operations import Progress
from specdoctor.core.redact import redact
from specdoctor.render.figures import clock as clock_words
from specdoctor.render.layout import labelled
from specdoctor.render.lines import event_line, worth_showing
from specdoctor.render.screen import progress_parts

_STAMP = 9


class PlainConsole:
    """Writes each event worth showing without secrets, stamped with the time since the run began, wrapped at `width`.

    Progress of a long operation is written every `every_s` seconds at most. `clock` only serves to space it out.
    """

    def __init__(
        self,
        *,
        stream: TextIO | None = None,
        width: int = 80,
        every_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream or sys.stderr
        self._width = width
        self._every_s = every_s
        self._clock = clock
        self._shown_at: float | None = None
        self._stamp = ""
        self._run_s = 0.0
        self._seen_at = clock()

    def event(self, event: Event, ledger: Ledger) -> None:
        self._run_s = event.at - ledger.first_at if ledger.first_at else 0.0
        self._seen_at = self._clock()
        self._stamp = clock_words(self._run_s)
        if worth_showing(event):
            self._write(event_line(event))

    def progress(self, action: str, progress: Progress) -> None:
        now = self._clock()
        if self._shown_at is None or now - self._shown_at >= self._every_s:
            self._shown_at = now
            self._stamp = clock_words(self._run_s + now - self._seen_at)
            self._write(f"{action} " + ", ".join(progress_parts(progress)))

    def close(self) -> None:
        self._stream.flush()

    def _write(self, text: str) -> None:
        lines = labelled(self._stamp, redact(text), label_width=_STAMP, width=self._width)
        self._stream.write("\n".join(lines) + "\n")
        self._stream.flush()


class Silence:
    """Shows nothing."""

    def event(self, event: Event, ledger: Ledger) -> None:
        """Pass over the event."""

    def progress(self, action: str, progress: Progress) -> None:
        """Pass over the step."""

    def close(self) -> None:
        """Nothing to leave."""
