"""/hypotheses: the whole list, with what each claim predicts and what is planned under it."""

from __future__ import annotations

from specdoctor.render.figures import TODO_WORDS, evidence_ids, prediction_and_result
from specdoctor.render.layout import labelled, pad
from specdoctor.session.command import Command, Outcome
from specdoctor.session.view import View


def _run(view: View, typed: str) -> Outcome:
    lines: list[str] = []
    for h in view.ledger.hypotheses.values():
        claim = f"{h.cause}: {h.claim}" if h.cause else h.claim
        lines += labelled(pad(h.id, 4) + h.status.value, claim, label_width=15, width=view.width)
        result = prediction_and_result(h, view.ledger)
        cited = f"  {evidence_ids(h.evidence)}" if h.evidence else ""
        if result or cited:
            lines += labelled("", result + cited, label_width=15, width=view.width)
        for item in h.todo:
            text = f"{pad(TODO_WORDS[item.status], 8)}{item.content}"
            lines += labelled("", text, label_width=15, width=view.width)
    for ask in view.ledger.asks.values():
        lines += labelled(f"{ask.ask} asked", f"{ask.text} (waits for its turn)", label_width=15, width=view.width)
    return Outcome("\n".join(lines) or "no hypothesis is on the list yet")


command = Command("hypotheses", "/hypotheses", "The whole list, with what is planned.", _run)
