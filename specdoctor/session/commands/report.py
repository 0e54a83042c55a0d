"""/report: write the report as far as the run got, and say where it is."""

from __future__ import annotations

from specdoctor.session.command import Command, Outcome
from specdoctor.session.view import View


def _run(view: View, typed: str) -> Outcome:
    return Outcome(do="report") if view.ledger.started is not None else Outcome("the run has not begun yet")


command = Command("report", "/report", "Write the report as far as it got.", _run)
