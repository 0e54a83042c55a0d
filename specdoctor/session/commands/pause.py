"""/pause: stop before the next move. What goes on is brought to its end first."""

from __future__ import annotations

from specdoctor.core.wishes import Hold
from specdoctor.session.command import Command, Outcome
from specdoctor.session.view import View


def _run(view: View, typed: str) -> Outcome:
    if view.ledger.paused:
        return Outcome("paused already; /go lets it go on")
    return Outcome(request=Hold(on=True))


command = Command("pause", "/pause", "Stop before the next move (as Ctrl-C once).", _run)
