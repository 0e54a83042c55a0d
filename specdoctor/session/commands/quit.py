"""/quit: put the server back and leave; the run can be resumed."""

from __future__ import annotations

from specdoctor.session.command import Command, Outcome
from specdoctor.session.view import View


def _run(view: View, typed: str) -> Outcome:
    return Outcome(do="leave")


command = Command("quit", "/quit", "Put the server back and leave (as Ctrl-C twice).", _run)
