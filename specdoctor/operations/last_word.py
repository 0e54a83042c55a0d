"""Telling a host that whoever steered a run has ended."""

from __future__ import annotations

from specdoctor.core.redact import redact
from specdoctor.operations.conversation import Conversation, Document, Refused

LEAVE_TIMEOUT_S = 8.0
"""Whoever leaves is not kept waiting by a link that does not answer."""


def last_word(talk: Conversation, run: str, *, exit_code: int | None, words: str) -> float | None:
    """Said once: seconds until the guard there acts by itself, None where none will. Raises TargetError."""
    params: Document = {"run": run, "ended": {"exit_code": exit_code, "words": redact(words)}}
    try:
        acts_in_s = talk.ask("contact", params, timeout_s=LEAVE_TIMEOUT_S).get("acts_in_s")
    except Refused:
        return None
    return float(acts_in_s) if isinstance(acts_in_s, int | float) else None
