"""/note: a remark for the record and the report."""

from __future__ import annotations

from specdoctor.core.errors import UsageError
from specdoctor.core.wishes import Note
from specdoctor.session.command import Command, Outcome
from specdoctor.session.view import View


def _run(view: View, typed: str) -> Outcome:
    text = typed.strip(" \"'")
    if not text:
        raise UsageError("which note?", next_step="/note the fans went up at 14:05")
    return Outcome(request=Note(text=text[:500]))


command = Command("note", "/note ...", "A remark for the record and the report.", _run)
