"""What the ledger says so far, as the rules ask it."""

from __future__ import annotations

from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status


def slower_confirmed(ledger: Ledger) -> bool:
    """Whether the evidence says that speculation loses here."""
    slower = ledger.by_key("symptom:slower")
    return slower is not None and slower.status is Status.SUPPORTED


def explained(ledger: Ledger, about: str | None = None) -> bool:
    """Whether a supported cause accounts for the symptom, or for one quantity of it (`about`)."""
    return any(
        h.answers == "explains" and h.status is Status.SUPPORTED and about in (None, h.about)
        for h in ledger.hypotheses.values()
    )
