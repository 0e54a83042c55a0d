"""What a section gives to the table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["met", "MISSED", "", "skipped"]


@dataclass(frozen=True)
class Row:
    """One line: what was measured, ours beside theirs, and the goal for their ratio (or for the figure itself).

    `notes` are printed below the table: how it was measured, and for a goal that was missed the profile that says why.
    """

    what: str
    ours: str
    theirs: str = ""
    ratio: str = ""
    goal: str = ""
    verdict: Verdict = ""
    notes: tuple[str, ...] = ()


def skipped(what: str, why: str) -> Row:
    """A line for what could not be measured here, and why."""
    return Row(what, "-", verdict="skipped", notes=(f"{what}: skipped: {why}",))


def judged(met: bool) -> Verdict:
    return "met" if met else "MISSED"


def quick() -> bool:
    """Whether a rough table in little time is wanted (QUICK=1)."""
    return os.environ.get("QUICK", "") not in ("", "0")
