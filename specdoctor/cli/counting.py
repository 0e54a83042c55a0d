"""Progress of a long calculation on standard error, with an estimate of what is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from specdoctor.cli.output import say

FIRST_S, ON_TERMINAL_S, AS_LINES_S = 2.0, 0.5, 15.0


@contextmanager
def counted(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with (done, all). Silent for the first seconds; on a terminal one line is rewritten."""
    begun = time.monotonic()
    terminal = sys.stderr.isatty()
    last = begun + FIRST_S - (ON_TERMINAL_S if terminal else AS_LINES_S)
    shown = False

    def progress(done: int, total: int) -> None:
        nonlocal last, shown
        now = time.monotonic()
        if done >= total or now - last < (ON_TERMINAL_S if terminal else AS_LINES_S):
            return
        last, shown = now, True
        left = (now - begun) / max(done, 1) * (total - done)
        text = f"{done} of {total} {what}, about {_clock(left)} left"
        if terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        else:
            say(text)

    try:
        yield progress
    finally:
        if shown and terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
