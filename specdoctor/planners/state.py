"""What the ledger says so far, as the rules ask it."""

from __future__ import annotations

from specdoctor.analysis.symptom import Symptom
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status


def asks_about_speed(symptom: Symptom) -> bool:
    """Whether the question is if speculation pays: said, implied by typed figures, or nothing was said at all."""
    return "slow" in symptom.complaints or not symptom.text.strip()


def slower_confirmed(ledger: Ledger) -> bool:
    """Whether the evidence says that speculation loses here."""
    slower = ledger.by_key("symptom:slower")
    return slower is not None and slower.status is Status.SUPPORTED


def explained(ledger: Ledger) -> bool:
    """Whether a supported cause accounts for the symptom."""
    return any(h.answers == "explains" and h.status is Status.SUPPORTED for h in ledger.hypotheses.values())
