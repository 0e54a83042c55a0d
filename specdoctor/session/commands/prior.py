"""/prior H3 0.8: how likely you hold a claim to be. It orders the tests; only evidence decides."""

from __future__ import annotations

from specdoctor.core.wishes import Prior
from specdoctor.session.command import Command, Outcome, hypothesis_of, open_hypothesis, typed
from specdoctor.session.view import View

USAGE = "/prior H3 0.8 (0: surely not, 1: surely)"


def _run(view: View, line: str) -> Outcome:
    name, _, value = line.strip().partition(" ")
    h = hypothesis_of(view, name, usage=USAGE)
    return Outcome(request=typed(Prior, {"hypothesis": h.id, "prior": value.strip()}, usage=USAGE))


command = Command("prior", "/prior H3 0.8", "How likely a claim is; only orders the tests.", _run, open_hypothesis)
