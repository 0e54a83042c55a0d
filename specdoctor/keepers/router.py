"""A router that sends requests to its workers, on this host."""

from __future__ import annotations

import re

from specdoctor.core.server import Keeper
from specdoctor.keepers.hand import ByHand, Wanted, by_shell
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused


def recognise(seen: Seen) -> Keeper | None:
    own = {p.pid for p in seen.ancestors}
    for other in seen.facts.processes:
        line = " ".join(other.argv)
        if other.pid == seen.process.pid or not any(name in line for name in seen.traits.routers):
            continue
        if other.pid in own or re.search(rf":{seen.port}(?:\D|$)", line):
            return refused(
                "router",
                f"router pid {other.pid}",
                f"it is a worker of a router (pid {other.pid}), which sends it requests",
                "take the worker out of the router, then restart it by hand",
            )
    return None


def hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    found = by_shell(keeper, wanted)
    first = "take it out of the router first, and add it again when it is up; here:"
    return ByHand(start=found.start, back=found.back, first=first)


row = Row(
    kind="router",
    title="worker of a router",
    recognised_by="a router among its ancestors, or one on this host whose line names its port",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: the router would send requests to a server that is down",
    by_hand="take the worker out of the router, then restart it by hand",
    recognise=recognise,
    hand=hand,
)
