"""/approve: yes to what is asked; this once, every further one of its kind, or all of this run up to its tier."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import unknown_word
from specdoctor.core.wishes import Reply
from specdoctor.session.command import Command, Outcome
from specdoctor.session.view import View

USAGE = "/approve once, /approve kind or /approve run"
SCOPES = ("once", "kind", "run")


def _run(view: View, typed: str) -> Outcome:
    scope = typed.strip() or "once"
    if view.question is None:
        raise UsageError("nothing is asked")
    if scope not in SCOPES:
        raise UsageError(unknown_word("scope", scope, list(SCOPES)), next_step=USAGE)
    if view.ledger.paused:
        raise UsageError("the run is paused: nothing is done before /go", next_step="/go, then /approve")
    return Outcome(request=Reply(batch=view.question.batch, granted=True, scope=scope))  # type: ignore[arg-type]


def _complete(view: View, words: Sequence[str]) -> Sequence[str]:
    return SCOPES if len(words) <= 1 else ()


command = Command("approve", "/approve [once|kind|run]", "Yes to what is asked.", _run, _complete)
