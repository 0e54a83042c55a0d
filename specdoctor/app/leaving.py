"""The last word of a run to the host: nobody steers it any more, whatever way it ended."""

from __future__ import annotations

from specdoctor.app.run import Run
from specdoctor.core.errors import SpecdoctorError


def tell_host(run: Run, *, exit_code: int | None, words: str) -> str:
    """Tell the host of a run that leaves something there; what there is to say about it, empty for nothing.

    `exit_code` is None where the run broke. A host that cannot be reached finds out by the silence.
    """
    if not _leaves_something(run):
        return ""
    try:
        acts_in_s = run.operations.leave(run.id, exit_code=exit_code, words=words)
    except SpecdoctorError:
        return "the host could not be told that this run has ended: it counts as at work there until its silence shows"
    if acts_in_s is None or not run.ledger.changed:
        return ""
    return (
        f"its guard on the host puts the original back in {acts_in_s:.0f} s, unless somebody does so before: "
        f"specdoctor restore TARGET --run {run.id}"
    )


def _leaves_something(run: Run) -> bool:
    """Whether a way back, a guard or a benchmark of this run may lie on the host."""
    ledger = run.ledger
    for entry in ledger.actions.values():
        what = entry.started.what
        if what in ("relaunch", "restore") and not ledger.released:
            return True
        if what == "bench" and (entry.ended is None or entry.ended.outcome == "unknown"):
            return True
    return False
