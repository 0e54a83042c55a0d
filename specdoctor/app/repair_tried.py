"""The repair that was tried on a corrected copy of the drafter's folder, held against what was expected of it."""

from __future__ import annotations

from specdoctor.analysis.after_repair import LAUNCH_SPREAD
from specdoctor.app.run import Run
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Risk, Status
from specdoctor.drafter.correction import Correction, correction

WORDS = {Status.SUPPORTED: "confirmed", Status.FALSIFIED: "falsified"}


def repair_tried(run: Run) -> tuple[tuple[str, str], ...]:
    """One line of the verdict; nothing where no configuration repairs what explains the accept length."""
    ledger = run.ledger
    told = [h for h in ledger.hypotheses.values() if h.answers == "repairs"]
    if told:
        return (("repair", _came_to(ledger, told)),)
    causes = {
        h.cause
        for h in ledger.hypotheses.values()
        if h.answers == "explains" and h.status is Status.SUPPORTED and h.about == "accept_length"
    }
    found = [o for o in ledger.observed() if o.cause in causes]
    asked = correction(run.scene.view, found) if run.scene is not None else None
    return (("repair", f"not tried ({asked.words}): {_why_not(ledger, asked)}"),) if asked is not None else ()


def _came_to(ledger: Ledger, told: list[Hypothesis]) -> str:
    parts = [f"{WORDS.get(h.status, 'not decided')}: {h.claim} ({h.because or _open(ledger, h)})" for h in told]
    cited = dict.fromkeys(e for h in told for e in h.evidence)
    copies = next((r.change.copies for r in ledger.relaunches if r.change.copies is not None), None)
    where = ""
    if copies is not None:
        stays = f"it stays at {copies.kept}" if copies.kept else "it was taken away with the run"
        where = f"; on a copy of {copies.source} with links to its files, {stays}"
    return f"{'; '.join(parts)}{where}" + (f"  {' '.join(cited)}" if cited else "")


def _open(ledger: Ledger, h: Hypothesis) -> str:
    prediction = h.prediction
    found = ledger.measured(prediction.under, concurrency=prediction.concurrency) if prediction is not None else None
    if prediction is None or found is None:
        return "it was not measured"
    figure = found.accept_length if prediction.metric == "accept_length" else found.throughput
    return f"measured {figure.with_unit()}, n={figure.n}" if figure is not None else "nothing was measured"


def _why_not(ledger: Ledger, asked: Correction) -> str:
    if asked.why_not:
        return asked.why_not
    if not ledger.granted(Risk.RESTART):
        return "no restart was allowed beforehand (--allow restart)"
    if ledger.settings.max_restarts - ledger.restarts < 1:
        return f"{ledger.restarts} of {ledger.settings.max_restarts} restarts were used (--max-restarts)"
    return "what it is expected to bring could not be told from what was found"


def symptom_removed(ledger: Ledger) -> bool:
    """Whether a repair that was tried and confirmed left nothing of a loss: as fast as without speculation, or faster.

    Within the spread assumed between two starts. Then nothing else is needed to explain the loss.
    """
    for h in ledger.hypotheses.values():
        p = h.prediction
        if h.answers != "repairs" or h.status is not Status.SUPPORTED or p is None:
            continue
        after, off = ledger.measured(p.under, concurrency=p.concurrency), ledger.baseline(p.concurrency)
        if after is None or off is None or after.throughput is None or off.throughput is None:
            continue
        if after.throughput.value >= (1.0 - LAUNCH_SPREAD) * off.throughput.value:
            return True
    return False
