"""The stamp in front of log lines."""

from __future__ import annotations

from datetime import UTC, datetime

Release = tuple[int, int, int]


def stamp(at_s: float, *, release: Release, rank: str = "", milliseconds: bool = False) -> str:
    """`[2026-11-29 17:40:00 TP0] ` for this moment (seconds since the epoch, shown in UTC)."""
    milliseconds = milliseconds and release >= (0, 5, 4)
    moment = datetime.fromtimestamp(at_s, UTC)
    text = moment.strftime("%Y-%m-%d %H:%M:%S")
    if milliseconds:
        text += f".{moment.microsecond // 1000:03d}"
    return f"[{text}{' ' + rank if rank else ''}] "
