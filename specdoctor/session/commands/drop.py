"""/drop: set a claim aside, undecided. Only evidence closes one."""

from __future__ import annotations

from specdoctor.core.errors import UsageError
from specdoctor.core.model import DECIDED
from specdoctor.core.wishes import Drop
from specdoctor.session.command import Command, Outcome, hypothesis_of, open_hypothesis
from specdoctor.session.view import View

USAGE = "/drop H2 [why]"


def _run(view: View, typed: str) -> Outcome:
    name, _, why = typed.strip().partition(" ")
    h = hypothesis_of(view, name, usage=USAGE)
    if h.status in DECIDED:
        raise UsageError(f"{h.id} is {h.status} by evidence; that cannot be dropped", next_step=f"/why {h.id}")
    return Outcome(request=Drop(hypothesis=h.id, why=why.strip(" \"'")))


command = Command("drop", USAGE, "Set a claim aside, undecided.", _run, open_hypothesis)
