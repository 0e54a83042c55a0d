"""Checks on single figures: a number that cannot be what it is said to be stops here."""

from __future__ import annotations

import math

from specdoctor.core.errors import SpecdoctorError

SHORTEST_CYCLE_MS = 0.1
LONGEST_CYCLE_MS = 10_000.0
MOST_STEPS = 1024
"""Draft steps beyond any engine's: a larger number is a slip, and would be calculated for hours."""
GIVE = "give {} as it was measured"


class FigureError(SpecdoctorError):
    """A figure is impossible: not a number, seconds where milliseconds are meant, percent for a fraction."""

    exit_code = 5


def finite(name: str, value: float) -> float:
    """Return `value`. Raises FigureError for NaN and infinity."""
    if not math.isfinite(value):
        raise FigureError(f"{name} is {value}, not a number that can be used", next_step=GIVE.format(name))
    return float(value)


def positive(name: str, value: float) -> float:
    """Return `value` if it is above zero. Raises FigureError."""
    if finite(name, value) <= 0:
        raise FigureError(f"{name} is {value:g}, expected more than 0", next_step=GIVE.format(name))
    return float(value)


def not_negative(name: str, value: float) -> float:
    """Return `value` if it is zero or more. Raises FigureError."""
    if finite(name, value) < 0:
        raise FigureError(f"{name} is {value:g}, expected 0 or more", next_step=GIVE.format(name))
    return float(value)


def fraction(name: str, value: float) -> float:
    """Return `value` if it lies in 0..1. Raises FigureError, naming percent as the likely slip."""
    if not 0.0 <= finite(name, value) <= 1.0:
        hint = "give it as a fraction, not in percent" if 1.0 < value <= 100.0 else GIVE.format(name)
        raise FigureError(f"{name} is {value:g}, expected a fraction between 0 and 1", next_step=hint)
    return float(value)


def duration_ms(name: str, value: float) -> float:
    """Return a cycle or step in ms. Raises FigureError outside 0.1..10000 ms, which is seconds or microseconds."""
    if not SHORTEST_CYCLE_MS <= finite(name, value) <= LONGEST_CYCLE_MS:
        raise FigureError(
            f"{name} is {value:g} ms, outside {SHORTEST_CYCLE_MS:g} to {LONGEST_CYCLE_MS:g} ms",
            next_step="give it in milliseconds",
        )
    return float(value)


def draft_steps(value: int) -> int:
    """Return a number of draft steps (0 means no speculation). Raises FigureError when negative or beyond any."""
    if value > MOST_STEPS:
        raise FigureError(
            f"draft steps is {value}, expected at most {MOST_STEPS}", next_step="read the effective num_steps"
        )
    if value < 0:
        raise FigureError(f"draft steps is {value}, expected 0 or more", next_step="read the effective num_steps")
    return value


def accept_length(value: float, *, steps: int | None = None) -> float:
    """Return an accept length (bonus token included). Raises FigureError below 1 or above steps + 1."""
    if finite("accept length", value) < 1.0:
        raise FigureError(
            f"accept length is {value:g}, below 1: the bonus token is missing or the counts do not belong together",
            next_step="count the bonus token, or take both counts from one window",
        )
    if steps is not None and value > steps + 1 + 1e-9:
        raise FigureError(
            f"accept length {value:g} exceeds {steps + 1}, the most {steps} draft steps can give",
            next_step="read the effective num_steps, or the convention of this accept length",
        )
    return float(value)
