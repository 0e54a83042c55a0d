"""/undrop: take a claim up again that was set aside."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.errors import UsageError
from specdoctor.core.model import Status
from specdoctor.core.wishes import TakeUp
from specdoctor.session.command import Command, Outcome, hypothesis_of
from specdoctor.session.view import View

USAGE = "/undrop H2"


def _run(view: View, typed: str) -> Outcome:
    h = hypothesis_of(view, typed.strip(), usage=USAGE)
    if h.status is not Status.PARKED:
        raise UsageError(f"{h.id} is {h.status}; only what was set aside can be taken up again")
    return Outcome(request=TakeUp(hypothesis=h.id))


def _complete(view: View, words: Sequence[str]) -> Sequence[str]:
    return [h.id for h in view.parked()] if len(words) <= 1 else ()


command = Command("undrop", USAGE, "Take a claim up again that was set aside.", _run, _complete)
