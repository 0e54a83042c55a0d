"""One known failure as data: how its telling line reads, what it means, and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """One failure. `frame` must be met in its traceback too; `alone`: the line tells it without a traceback.

    `meaning` is one sentence without a full stop, with the pattern's groups in braces. `cause` is an id of the fault
    taxonomy, None for plain mistakes of a start.
    """

    id: str
    pattern: re.Pattern[str]
    meaning: str
    cause: str | None
    next_step: str
    frame: re.Pattern[str] | None = None
    alone: bool = True


def explanation(
    name: str,
    pattern: str,
    meaning: str,
    cause: str | None,
    next_step: str,
    *,
    frame: str | None = None,
    alone: bool = True,
) -> Explanation:
    return Explanation(
        id=name,
        pattern=re.compile(pattern),
        meaning=meaning,
        cause=cause,
        next_step=next_step,
        frame=re.compile(frame) if frame else None,
        alone=alone,
    )
