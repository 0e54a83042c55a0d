"""The last line of a run that stopped on the way: how the server is, and how to go on."""

from __future__ import annotations

from specdoctor.core.errors import EXIT_INTERRUPTED
from specdoctor.core.ledger import Ledger
from specdoctor.core.resuming import resume_line


def going_on_words(ledger: Ledger) -> str:
    """How to go on with a run that has more to do; empty for one that came to its end."""
    ended = ledger.ended
    told = f"specdoctor investigate --resume {ledger.run}"
    if ended is not None and ended.exit_code != EXIT_INTERRUPTED and told not in ended.reason:
        return ""
    return f"{_server_words(ledger)}; go on with:  {resume_line(ledger)}"


def _server_words(ledger: Ledger) -> str:
    if ledger.by_hand is not None:
        return "the server runs with what was started by hand"
    if ledger.changed or ledger.unsettled():
        return "the server may NOT be as it was"
    if ledger.restored is None:
        return "the server was not changed"
    return "the server is as it was" if ledger.restored else "the server is NOT as it was found"
