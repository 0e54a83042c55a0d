"""/evidence H3 lists what a claim rests on; /evidence E14 opens one piece."""

from __future__ import annotations

import re
from collections.abc import Sequence

from specdoctor.core.errors import UsageError
from specdoctor.render.layout import labels
from specdoctor.render.review import evidence_text
from specdoctor.session.command import Command, Outcome, hypothesis_of
from specdoctor.session.view import View

USAGE = "/evidence H3 or /evidence E14"


def _run(view: View, typed: str) -> Outcome:
    name = typed.strip()
    if re.fullmatch(r"[eE]\d+", name):
        if view.ledger.started is None:
            raise UsageError("nothing is recorded yet")
        return Outcome(evidence_text(view.history, name.upper(), width=view.width))
    h = hypothesis_of(view, name, usage=USAGE)
    cited = dict.fromkeys(h.evidence)
    cited |= dict.fromkeys(b.evidence for b in view.ledger.bounds if h.id in b.speaks_of or h.id in b.refutes)
    cited |= dict.fromkeys(o.evidence for o in view.ledger.observations if h.cause and o.observation.cause == h.cause)
    found = [view.ledger.evidence[name] for name in cited if name in view.ledger.evidence]
    rows = [(e.evidence, f"{e.summary} (from {e.source})") for e in found]
    return Outcome(labels(rows, label_width=6, width=view.width) if rows else f"{h.id} rests on nothing yet")


def _complete(view: View, words: Sequence[str]) -> Sequence[str]:
    return [*view.ledger.hypotheses, *view.ledger.evidence] if len(words) <= 1 else ()


command = Command("evidence", "/evidence H3|E14", "The evidence of a claim, or one piece.", _run, _complete)
