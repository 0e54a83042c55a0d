"""Files that somebody gives, as every engine's adapter sorts them: which tell of the present."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from specdoctor.core.server import LogReading

EARLIER = re.compile(r"before|baseline|\bbase\b|_base|start|old|prev|without|nospec|other")
_LATER = re.compile(r"after|end|final|now")


@dataclass(frozen=True)
class GivenLog:
    """One log with what was read of it."""

    name: str
    text: str
    reading: LogReading


def preference(name: str, earlier: re.Pattern[str] = EARLIER) -> tuple[int, int, str]:
    """Files about the present come before those about the past or about something else; then by name."""
    stem = PurePosixPath(name).stem.lower()
    return (1 if earlier.search(stem) else 0, 0 if _LATER.search(stem) else 1, name)
