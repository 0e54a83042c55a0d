"""What a command of the session is: a name, a sentence of help, and a pure function of what is seen and was typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import ValidationError

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import explained, unknown_word
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.model import Frozen
from specdoctor.core.wishes import Request
from specdoctor.session.view import View

T = TypeVar("T", bound=Frozen)


class Outcome(NamedTuple):
    """What a line comes to: words to show, a wish to the run, or something for the session to do."""

    text: str = ""
    request: Request | None = None
    do: Literal["", "leave", "report"] = ""


class Command(NamedTuple):
    """One command. `run` raises UsageError with what is wrong; `complete` lists what may stand next."""

    name: str
    usage: str
    help: str
    run: Callable[[View, str], Outcome]
    complete: Callable[[View, Sequence[str]], Sequence[str]] = lambda view, words: ()


def words_of(typed: str) -> list[str]:
    """The words of a line, quotes taken off. Raises UsageError for one that is not closed."""
    try:
        return shlex.split(typed)
    except ValueError as error:
        raise UsageError(f"this line cannot be split into words: {error}", next_step="close the quotation") from error


def hypothesis_of(view: View, name: str, *, usage: str) -> Hypothesis:
    """The hypothesis that is meant by `H3`, `h3` or `3`. Raises UsageError."""
    listed = view.ledger.hypotheses
    wanted = name.upper() if re.fullmatch(r"[hH]\d+", name) else f"H{name}" if name.isdecimal() else name
    if not wanted:
        raise UsageError("which hypothesis?", next_step=usage)
    if wanted not in listed:
        told = f"the list has {', '.join(listed)}" if listed else "no hypothesis is on the list yet"
        raise UsageError(f"no hypothesis {name}", next_step=told)
    return listed[wanted]


def pairs_of(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Plain words, and those of the form key=value."""
    plain = [word for word in words if not re.fullmatch(r"[a-z_]+=.*", word)]
    pairs = dict(word.split("=", 1) for word in words if word not in plain)
    return plain, pairs


def typed(kind: type[T], values: dict[str, Any], *, usage: str) -> T:
    """Values that were typed, as a type. Raises UsageError with every fault."""
    for name in values:
        if name not in kind.model_fields:
            known = [n for n in kind.model_fields if n != "do"]
            raise UsageError(unknown_word("setting", name, known), next_step=usage)
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        said = "; ".join(f"{item['loc'][0]}: {explained(item)}" for item in error.errors(include_url=False))
        raise UsageError(said, next_step=usage) from error


def any_hypothesis(view: View, words: Sequence[str]) -> Sequence[str]:
    """The ids on the list, for a command whose first word is one."""
    return list(view.ledger.hypotheses) if len(words) <= 1 else ()


def open_hypothesis(view: View, words: Sequence[str]) -> Sequence[str]:
    """The ids of what is still open."""
    return view.open_ids() if len(words) <= 1 else ()
