"""/budget: what was used and what is left, and what is allowed without a question."""

from __future__ import annotations

from specdoctor.core.model import Risk
from specdoctor.render.figures import clock, restarts_words
from specdoctor.render.layout import labels
from specdoctor.session.command import Command, Outcome
from specdoctor.session.view import View


def _run(view: View, typed: str) -> Outcome:
    ledger = view.ledger
    if ledger.started is None:
        return Outcome("the run has not begun yet")
    settings = ledger.settings
    used_s = ledger.last_at - ledger.first_at
    allowed = [tier.word for tier in (Risk.LOAD, Risk.RESTART) if ledger.granted(tier)]
    keeps = "one is kept for putting the original back"
    rows = [
        ("restarts", f"{restarts_words(ledger)}; {keeps}"),
        ("time", f"{clock(used_s)} of {settings.max_minutes:g} min"),
        ("model", ledger.model_words or "none is asked"),
        ("allowed", ", ".join(allowed) if allowed else "reading only; benchmarks and restarts are asked about"),
        ("more", f"specdoctor investigate --resume {ledger.run} --max-restarts N --max-minutes N, once this has ended"),
    ]
    return Outcome(labels(rows, label_width=11, width=view.width))


command = Command("budget", "/budget", "What was used, and what is allowed.", _run)
