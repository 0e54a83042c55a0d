"""/go: let a paused run go on."""

from __future__ import annotations

from specdoctor.core.wishes import Hold
from specdoctor.session.command import Command, Outcome
from specdoctor.session.view import View


def _run(view: View, typed: str) -> Outcome:
    if not view.ledger.paused:
        return Outcome("it is not paused")
    return Outcome(request=Hold(on=False))


command = Command("go", "/go", "Let a paused run go on.", _run)
