"""Somebody else starts the server too while a run restarts it: that becomes part of the run before its verdict."""

from __future__ import annotations

from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.launch import OtherStart
from specdoctor.core.ledger import Ledger
from specdoctor.core.server import ServerRef

NEXT = "nothing is restarted any more: find out who starts it, see that one server runs, then begin a new run"
NEITHER = "neither the server that was put back nor the other one runs any more"


def take_note(run: Run) -> bool:
    """Record what the host has seen of it since the server was put back, and what lives by now. True for something new.

    Where nothing lives any more the server is not back.
    """
    ledger = run.ledger
    known = ledger.others
    if not ledger.restores or ledger.changed or ledger.released or (known is not None and not known.same):
        return False
    other = run.operations.state(run.id).other
    if other is None or (known is not None and not _tells_more(other, known)):
        return False
    evidence = run.record(action=None, source="others", summary=f"after it was put back: {_what_lives(other)}")
    found: dict[str, object] = {"status": "nothing-to-do", "other": other, "start_s": 0.0, "downtime_s": 0.0}
    if other.same and other.alive is False and other.ours_alive is False:
        found |= {"status": "failed", "server": None, "reason": f"{NEITHER}: {other.words}"}
    outcome = ledger.restores[-1].outcome.model_copy(update=found)
    run.emit(ev.ServerRestored(outcome=outcome, evidence=evidence, started=False))
    return True


def _tells_more(other: OtherStart, known: OtherStart) -> bool:
    looked = other.same and other.alive is not None
    return looked and (other.pid, other.alive, other.ours_alive) != (known.pid, known.alive, known.ours_alive)


def how_it_is(ledger: Ledger) -> str:
    """A server that is up again and that somebody else starts too: never as it was. Empty where nobody does."""
    if ledger.others is None or not ledger.others.same:
        return ""
    if not ledger.restores:
        return f"not restarted any more: {ledger.others.words}; {NEXT}"
    last = ledger.restores[-1].outcome
    same = f"{sum(last.equal.values())} of {len(last.equal)} parts equal"
    other = ledger.others
    if other.ours_alive is None:  # whoever saw it has not looked what lives
        put_back = any(r.outcome.status == "restored" for r in ledger.restores)
        ours = put_back and last.server == _last_put_back(ledger)
        other = other.model_copy(update={"ours_alive": ours, "alive": True})
    return f"{_what_lives(other)} ({same}); {NEXT}"


def _what_lives(other: OtherStart) -> str:
    """What really is there, of the two."""
    if other.ours_alive and other.alive is False:
        return f"put back, and alone by now: {other.words}; that one has ended, and may come again"
    if other.ours_alive:
        return f"put back, but not alone: {other.words}"
    if other.alive is False:
        return f"DOWN: {NEITHER}: {other.words}"
    return f"up, NOT put back by specdoctor: {other.words}"


def _last_put_back(ledger: Ledger) -> ServerRef | None:
    return next((r.outcome.server for r in reversed(ledger.restores) if r.outcome.status == "restored"), None)
