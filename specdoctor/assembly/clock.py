"""The clock of a run on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


class WallClock:
    """The time of this machine as it was when this began, counted on steadily: a clock that is set meanwhile moves
    neither waits nor the order of events. Time asleep counts where the system tells it.
    """

    def __init__(self, *, wall: Callable[[], float] = time.time, steady: Callable[[], float] | None = None) -> None:
        self._steady = steady or _steady_s
        self._offset_s = wall() - self._steady()

    def now(self) -> float:
        return self._offset_s + self._steady()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def _steady_s() -> float:
    """Seconds of a clock that nobody sets; on Linux it goes on while the machine is suspended."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)
