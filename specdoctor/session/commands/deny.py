"""/deny: no to what is asked, and to everything of its tier in this run."""

from __future__ import annotations

from specdoctor.core.errors import UsageError
from specdoctor.core.wishes import Reply
from specdoctor.session.command import Command, Outcome
from specdoctor.session.view import View


def _run(view: View, typed: str) -> Outcome:
    if view.question is None:
        raise UsageError("nothing is asked")
    return Outcome(request=Reply(batch=view.question.batch, granted=False))


command = Command("deny", "/deny", "No to what is asked.", _run)
