"""Somebody else starts the server too while a run restarts it: that becomes part of the run before its verdict."""

from __future__ import annotations

from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.ledger import Ledger
from specdoctor.core.server import ServerRef

NEXT = "nothing is restarted any more: find out who starts it, see that one server runs, then begin a new run"


def take_note(run: Run) -> bool:
    """Record, once, that the host has seen it since the server was put back. True where it did."""
    ledger = run.ledger
    if not ledger.restores or ledger.changed or ledger.released or ledger.others is not None:
        return False
    other = run.operations.state(run.id).other
    if other is None:
        return False
    evidence = run.record(action=None, source="others", summary=f"after it was put back: {other.words}")
    found = {"status": "nothing-to-do", "other": other, "start_s": 0.0, "downtime_s": 0.0}
    outcome = ledger.restores[-1].outcome.model_copy(update=found)
    run.emit(ev.ServerRestored(outcome=outcome, evidence=evidence, started=False))
    return True


def how_it_is(ledger: Ledger) -> str:
    """A server that is up again and that somebody else starts too: never as it was. Empty where nobody does."""
    if ledger.others is None or not ledger.others.same:
        return ""
    if not ledger.restores:
        return f"not restarted any more: {ledger.others.words}; {NEXT}"
    last = ledger.restores[-1].outcome
    ours = any(r.outcome.status == "restored" for r in ledger.restores)
    began = (
        "put back, but not alone"
        if ours and last.server == _last_put_back(ledger)
        else "up, NOT put back by specdoctor"
    )
    same = f"{sum(last.equal.values())} of {len(last.equal)} parts equal"
    return f"{began}: {ledger.others.words} ({same}); {NEXT}"


def _last_put_back(ledger: Ledger) -> ServerRef | None:
    return next((r.outcome.server for r in reversed(ledger.restores) if r.outcome.status == "restored"), None)
