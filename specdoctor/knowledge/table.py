"""All causes, by the order in which the groups are usually looked at."""

from __future__ import annotations

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import unknown_word
from specdoctor.knowledge import cfg, compat, corr, env, graph, load, meas, mem, mis, samp, train, ver, wire
from specdoctor.knowledge.cause import Cause, Group

GROUPS: tuple[Group, ...] = tuple(
    module.group for module in (meas, cfg, load, graph, wire, train, mis, corr, samp, env, ver, mem, compat)
)
CAUSES: dict[str, Cause] = {cause.id: cause for group in GROUPS for cause in group.causes}


def cause_named(word: str) -> Cause:
    """The cause of that id, in any case. Raises UsageError with the nearest id."""
    found = CAUSES.get(word.upper())
    if found is None:
        raise UsageError(unknown_word("cause", word.upper(), list(CAUSES)), next_step="specdoctor causes lists them")
    return found
