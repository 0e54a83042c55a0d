"""Which causes earlier runs in the store named as explaining: a prior of the next run, and evidence of nothing."""

from __future__ import annotations

from collections import Counter

from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.conclusions import CauseNamed
from specdoctor.core.errors import StoreError
from specdoctor.core.model import Role

MOST_RUNS = 30
"""Newest runs that are looked through."""
SOURCE = "verdicts on record"


def note_verdicts(run: Run, action: str) -> str | None:
    """Record how often each cause was named as explaining; returns the evidence id, None without any."""
    named: Counter[str] = Counter()
    seen = 0
    others = [r.run for r in run.store.runs() if r.run != run.id]
    for name in others[-MOST_RUNS:]:
        try:
            reached = [e for e in run.store.events(name) if isinstance(e, ev.VerdictReached)]
        except StoreError:  # of another version, or damaged: one record less
            continue
        causes = {c.cause for c in reached[-1].causes if _explains(c)} if reached else set()
        named.update(causes)
        seen += bool(causes)
    if not named:
        return None
    told = ", ".join(f"{cause} {count}" for cause, count in named.most_common(5))
    words = f"{seen} earlier runs named what explains: {told}"
    return run.record(action=action, source=SOURCE, summary=words, data=dict(named))


def _explains(cause: CauseNamed) -> bool:
    return cause.status == "supported" and cause.role is Role.EXPLAINS
