"""A container that specdoctor itself looks from (`--via`): nothing in it can start it again."""

from __future__ import annotations

from specdoctor.core.server import Keeper
from specdoctor.core.via import keeper_through
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen


def recognise(seen: Seen) -> Keeper | None:
    return keeper_through(seen.facts.via)


row = Row(
    kind="via",
    title="a container reached with `--via`",
    recognised_by="specdoctor was told to look from inside it",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: what starts the container cannot be reached from inside it",
    by_hand="leave out `--via` and look from the host; of a pod, `kubectl describe pod` names the workload to change",
    recognise=recognise,
)
