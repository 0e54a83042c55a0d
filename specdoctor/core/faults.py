"""Faults in a file that somebody wrote: all of them at once, each with its place, its key and what is wrong."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from specdoctor.core.errors import UsageError
from specdoctor.core.model import Frozen


class Fault(Frozen):
    """One fault; line and column count from 1, as editors do."""

    line: int
    column: int
    key: str
    message: str


def refusal(path: str, faults: Iterable[Fault], *, next_step: str = "") -> UsageError:
    """One error for all faults of a file: a headline, then one line each with file:line:column, key and message."""
    ordered = sorted(faults, key=lambda f: (f.line, f.column, f.key))
    count = f"{len(ordered)} fault" + ("s" if len(ordered) != 1 else "")
    rows = [f"  {path}:{f.line}:{f.column}  {f.key}  {f.message}" for f in ordered]
    return UsageError("\n".join([f"{path}: {count}", *rows]), next_step=next_step)


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` where one of the known words is close, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else ""


def unknown_word(what: str, word: str, known: Sequence[str]) -> str:
    """A message for a name that does not exist: the nearest one, or the whole list when none is near."""
    near = nearest(word, known)
    return f'unknown {what} "{word}"' + (near or f"; known: {', '.join(known) or 'none'}")


def explained(error: Any, *, known_keys: Sequence[str] = ()) -> str:
    """A validation error (one item of pydantic's `errors()`) in words; `known_keys` are those of its table."""
    kind, given, context = error["type"], error.get("input"), error.get("ctx", {})
    last = str(error["loc"][-1]) if error["loc"] else ""
    if kind == "extra_forbidden":
        return unknown_word("key", last, known_keys) if known_keys else f'unknown key "{last}"'
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        words = [w.strip("' ") for w in str(context.get("expected", "")).replace(" or ", ", ").split(",")]
        near = nearest(given, words) if isinstance(given, str) else ""
        return f"{_shown(given)} is none of {', '.join(words)}{near}"
    for ending, wanted in _TYPES.items():
        if kind.endswith(ending):
            return f"must be {wanted}, got {_shown(given)}"
    if kind == "value_error":
        return str(context.get("error", error["msg"]))
    if kind == "string_pattern_mismatch":
        return f"{_shown(given)} is not of the form {context['pattern']}"
    limits = {"greater_than_equal": ("ge", "or more"), "less_than_equal": ("le", "or less")}
    if kind in limits:
        name, words_after = limits[kind]
        return f"must be {context[name]:g} {words_after}, got {_shown(given)}"
    if kind in ("greater_than", "less_than"):
        word = "above" if kind == "greater_than" else "below"
        return f"must be {word} {next(iter(context.values())):g}, got {_shown(given)}"
    return f"{str(error['msg'])[:1].lower()}{str(error['msg'])[1:]}, got {_shown(given)}"


_TYPES = {
    "model_type": "a table of keys",
    "model_attributes_type": "a table of keys",
    "dict_type": "a table of keys",
    "tuple_type": "a list",
    "list_type": "a list",
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
