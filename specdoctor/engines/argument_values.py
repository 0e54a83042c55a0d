"""Values of arguments: as typed, as in force, and whether the two are the same thing."""

from __future__ import annotations

import json
import math

from pydantic import JsonValue


def as_text(value: JsonValue) -> str | None:
    """A value in force as one would type it."""
    if value is None:
        return None
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    return str(value)


def same_value(asked: str, in_force: JsonValue) -> bool:
    """Whether a typed value and a value in force are the same thing."""
    text = asked.strip()
    if in_force is None:
        return text.lower() in {"", "none", "null"}
    if isinstance(in_force, bool):
        return text.lower() in ({"true", "1", "yes", "on"} if in_force else {"false", "0", "no", "off"})
    if isinstance(in_force, (int, float)):
        try:
            return math.isclose(float(text), float(in_force), rel_tol=1e-9)
        except (ValueError, OverflowError):
            return False
    if isinstance(in_force, list):
        wanted = text.replace(",", " ").split()
        return len(wanted) == len(in_force) and all(same_value(a, b) for a, b in zip(wanted, in_force, strict=True))
    if isinstance(in_force, dict):
        return True
    return text.lower() == in_force.lower() or text.rstrip("/") == in_force.rstrip("/")
