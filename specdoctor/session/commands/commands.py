"""/commands: exactly what a yes would run."""

from __future__ import annotations

from specdoctor.session.command import Command, Outcome
from specdoctor.session.question import command_lines
from specdoctor.session.view import View


def _run(view: View, typed: str) -> Outcome:
    if view.question is None:
        return Outcome("nothing is asked")
    return Outcome("\n".join(command_lines(view.question, width=view.width)) or "  no command")


command = Command("commands", "/commands", "Exactly what a yes would run.", _run)
