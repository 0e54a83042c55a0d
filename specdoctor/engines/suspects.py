"""Lines of a log that may tell why a start failed or a server died."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Suspects:
    """Lines of one start that may tell a failure: numbers from 1 into `lines`, in order; `ready`: it served."""

    lines: Sequence[str]
    numbers: Sequence[int]
    ready: bool
