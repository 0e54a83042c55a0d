"""What the ledger says so far, as the rules ask it."""

from __future__ import annotations

from specdoctor.analysis.after_repair import repaired_in_vain
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status


def slower_confirmed(ledger: Ledger) -> bool:
    """Whether the evidence says that speculation loses here."""
    slower = ledger.by_key("symptom:slower")
    return slower is not None and slower.status is Status.SUPPORTED


def explained(ledger: Ledger, about: str | None = None) -> bool:
    """Whether a supported cause accounts for the symptom, or for one quantity of it (`about`)."""
    return any(
        h.answers == "explains"
        and h.status is Status.SUPPORTED
        and about in (None, h.about)
        and not repaired_in_vain(ledger, h.cause)
        for h in ledger.hypotheses.values()
    )


def benched(ledger: Ledger, launch_key: str, concurrency: int) -> bool:
    """Whether this launch was measured with so many clients, or a benchmark of it came to nothing."""
    return any(
        a.started.what == "bench"
        and a.started.move.get("launch_key") == launch_key
        and a.started.move.get("concurrency") == concurrency
        and a.ended is not None
        and a.ended.outcome != "unknown"
        for a in ledger.actions.values()
    )
