"""Time for practice without processes."""

from __future__ import annotations

EPOCH_S = 1_771_000_000.0


class VirtualClock:
    """Time that passes only when somebody waits or works."""

    def __init__(self, start_s: float = EPOCH_S) -> None:
        self._now_s = start_s

    def now(self) -> float:
        return self._now_s

    def sleep(self, seconds: float) -> None:
        self._now_s += max(seconds, 0.0)

    def reach(self, at_s: float) -> None:
        """Let time pass until `at_s`."""
        self._now_s = max(self._now_s, at_s)
