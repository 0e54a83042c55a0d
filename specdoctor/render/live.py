"""The live screen: one picture of the run, drawn over itself on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from rich.console import Console, Group
from rich.live import Live

from specdoctor.core.events import ApprovalAsked, Event
from specdoctor.core.ledger import Ledger
from specdoctor.core.operations import Progress
from specdoctor.render.screen import Picture, Step, frame, picture_of


class LiveConsole:
    """Shows the run on a terminal until `close`. The screen rests while a question stands (from ApprovalAsked on).

    `clock` gives seconds since the epoch, by the same clock as the events. Redrawn four times a second.
    """

    def __init__(self, *, console: Console | None = None, clock: Callable[[], float] = time.time) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._clock = clock
        self._lock = Lock()
        self._picture: Picture | None = None
        self._step: Step | None = None
        self._live: Live | None = None
        self._closed = False

    def event(self, event: Event, ledger: Ledger) -> None:
        """Take the ledger's new state; draw it."""
        picture = picture_of(ledger)
        with self._lock:
            if self._picture is None or picture.doing_since != self._picture.doing_since:
                self._step = None
            self._picture = picture
        if isinstance(event, ApprovalAsked):
            self.pause()
        else:
            self.resume()

    def progress(self, action: str, progress: Progress) -> None:
        """Take one step of the operation that runs; drawn at the next refresh."""
        with self._lock:
            self._step = Step(progress, self._clock())

    def pause(self) -> None:
        """Leave the terminal to somebody else; what was drawn stays above."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def resume(self) -> None:
        """Draw again, below what was printed meanwhile."""
        if self._closed:
            return
        if self._live is None:
            self._live = Live(
                console=self._console,
                get_renderable=self._drawn,
                refresh_per_second=4,
                redirect_stdout=False,
                vertical_overflow="crop",
            )
            self._live.start(refresh=True)
        else:
            self._live.refresh()

    def close(self) -> None:
        """Draw a last time and leave the terminal as it was; the picture stays. May be called twice."""
        self._closed = True
        self.pause()

    def _drawn(self) -> Group:
        with self._lock:
            picture, step = self._picture, self._step
        if picture is None:
            return Group()
        size = self._console.size
        lines = frame(picture, now=self._clock(), width=size.width, height=size.height - 1, step=step)
        for line in lines:
            line.no_wrap = True
        return Group(*lines)
