"""The desk of a session: what the screen's thread puts there, the run's thread takes."""

from __future__ import annotations

import queue
from collections.abc import Callable

from specdoctor.core.wishes import Request


class QueueDesk:
    """A queue of wishes between two threads. `close` empties the chair: whoever waits for an answer stops waiting."""

    def __init__(self, *, who: str, say: Callable[[str], None]) -> None:
        self.who = who
        self.say = say
        self._queue: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._open = True

    @property
    def attended(self) -> bool:
        return self._open

    @property
    def waiting(self) -> int:
        """Wishes that the run has not taken yet."""
        return self._queue.qsize()

    def put(self, request: Request) -> None:
        self._queue.put(request)

    def next(self, *, within_s: float) -> Request | None:
        try:
            return self._queue.get(timeout=within_s) if within_s else self._queue.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        self._open = False
