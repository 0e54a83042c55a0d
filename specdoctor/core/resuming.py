"""How a run is gone on with: the command to paste, with the budget that it needs where that was used up on the way."""

from __future__ import annotations

from specdoctor.core.ledger import Ledger

STARTS_LOST = 2
"""A launch that was cut off, and putting back the original after it."""


def budget_to_go_on(ledger: Ledger) -> int:
    """The `--max-restarts` that makes good what was lost with launches cut off, and lets one more be made at least.

    A server that is changed now will have been put back by then, by us or by its guard, which is a start too.
    """
    return max(_used(ledger) + 2, ledger.settings.max_restarts + STARTS_LOST * _cut_off(ledger))


def resume_line(ledger: Ledger) -> str:
    """The command that goes on with a run. It raises the budget only where a launch that was cut off needs that."""
    command = f"specdoctor investigate --resume {ledger.run}"
    if ledger.others is not None or not _cut_off(ledger) or ledger.settings.max_restarts - _used(ledger) >= 2:
        return command
    return f"{command} --max-restarts {budget_to_go_on(ledger)}"


def _used(ledger: Ledger) -> int:
    """Starts so far, with the one that is still to come where the server is changed."""
    still_to_put_back = ledger.changed or any(a.started.what == "relaunch" for a in ledger.unsettled())
    return ledger.restarts + (1 if still_to_put_back else 0)


def _cut_off(ledger: Ledger) -> int:
    """How many launches were begun that came to nothing for want of time: not refused, not failed, not measured."""
    told = {r.outcome.action for r in ledger.relaunches}
    begun = [a for a in ledger.unsettled() if a.started.what == "relaunch" and a.started.action not in told]
    made = {r.change.key: r.change for r in ledger.relaunches if r.outcome.status in ("ready", "undone")}
    return len(begun) + sum(not ledger.settled(change) for change in made.values())
