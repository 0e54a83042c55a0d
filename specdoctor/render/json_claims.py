"""Figures that somebody typed, as entries of a run's document."""

from __future__ import annotations

from specdoctor.analysis.dated import DatedFigure
from specdoctor.analysis.recall import RecalledFigure, recalled_figures
from specdoctor.core.hypothesis import Claim
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import DECIDED
from specdoctor.render.json_entries import ClaimEntry, DatedEntry


def claim_entries(ledger: Ledger) -> tuple[ClaimEntry, ...]:
    """Those of the symptom, then the recalled ones."""
    typed = (_typed(c, ledger) for c in ledger.claims)
    return (*typed, *(_recalled(f) for f in recalled_figures(ledger)))


def _typed(claim: Claim, ledger: Ledger) -> ClaimEntry:
    """A typed figure counts as tested when a decided hypothesis answers whether the symptom is true here."""
    decided = [
        h
        for h in ledger.hypotheses.values()
        if h.answers == "symptom" and h.status in DECIDED and h.prediction and h.prediction.metric == claim.metric
    ]
    why = ", ".join(f"{h.id} {h.status.value}" for h in decided)
    return ClaimEntry(
        text=claim.text,
        metric=claim.metric,
        role=claim.role,
        value=claim.value,
        recalled_at=None,
        status="tested" if decided else "open",
        why=why or "no hypothesis about it was decided",
    )


def _recalled(figure: RecalledFigure) -> ClaimEntry:
    claim = figure.claim
    return ClaimEntry(
        text=claim.text,
        metric=claim.metric,
        role=claim.role,
        value=claim.value,
        recalled_at=claim.recalled_at or None,
        status=figure.status,
        why=figure.why,
        dated=_dated(figure.dated),
    )


def _dated(found: DatedFigure | None) -> DatedEntry | None:
    if found is None:
        return None
    return DatedEntry(
        log=found.log,
        at=found.at,
        value=found.figure.value,
        interval=(found.figure.low, found.figure.high),
        lines=found.figure.n,
        agrees=found.agrees,
        state=found.state,
        evidence=found.evidence,
    )
