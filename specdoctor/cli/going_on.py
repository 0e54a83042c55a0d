"""The last line of a run that stopped on the way: how the server is, and how to go on."""

from __future__ import annotations

from specdoctor.core.errors import EXIT_INTERRUPTED
from specdoctor.core.ledger import Ledger


def going_on_words(ledger: Ledger) -> str:
    """How to go on with a run that has more to do; empty for one that came to its end."""
    command = f"specdoctor investigate --resume {ledger.run}"
    ended = ledger.ended
    if ended is not None and ended.exit_code != EXIT_INTERRUPTED and command not in ended.reason:
        return ""
    return f"{_server_words(ledger)}; go on with:  {command}"


def _server_words(ledger: Ledger) -> str:
    if ledger.by_hand is not None:
        return "the server runs with what was started by hand"
    if ledger.changed or ledger.unsettled():
        return "the server may NOT be as it was"
    if ledger.restored is None:
        return "the server was not changed"
    return "the server is as it was" if ledger.restored else "the server is NOT as it was found"
