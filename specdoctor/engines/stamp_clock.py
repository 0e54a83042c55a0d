"""The time stamps of log lines as seconds."""

from __future__ import annotations

from datetime import UTC, datetime


class StampClock:
    """Seconds of a time stamp, read as UTC since logs name no zone: good for differences within one log.

    `before` completes stamps that leave the year out; differences then hold in a log that crosses no new year.
    """

    def __init__(self, before: str = "") -> None:
        self._before = before
        self._text = ""
        self._value: float | None = None

    def seconds(self, stamp: str) -> float | None:
        if stamp != self._text:
            self._text = stamp
            try:
                self._value = datetime.fromisoformat(self._before + stamp).replace(tzinfo=UTC).timestamp()
            except (ValueError, OverflowError):
                self._value = None
        return self._value
