"""Numbers as logs print them."""

from __future__ import annotations

import math


def finite(text: str | None) -> float | None:
    """The number that a text is; None where there is none, and for infinities and nan."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
