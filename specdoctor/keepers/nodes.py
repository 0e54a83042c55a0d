"""Several nodes: ranks that only work together."""

from __future__ import annotations

from specdoctor.core.server import Keeper
from specdoctor.keepers.hand import ByHand, Wanted, by_shell
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused


def recognise(seen: Seen) -> Keeper | None:
    nodes, rank = seen.traits.nodes, seen.traits.rank
    if nodes < 2:
        return None
    return refused(
        "multi-node",
        f"rank {rank} of {nodes} nodes",
        f"it is one of {nodes} nodes, which must all be restarted together with the same arguments",
        "stop the server on every node, then start it on every node with the changed arguments",
    )


def hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    """This node's lines; the other nodes need the same with a rank of their own."""
    found = by_shell(keeper, wanted)
    first = "stop the server on every node first; then the same line on each, with its own --node-rank; here:"
    return ByHand(start=found.start, back=found.back, first=first)


row = Row(
    kind="multi-node",
    title="several nodes",
    recognised_by="its launch line asks for more than one node",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: all ranks must be restarted together, and only one host is reached",
    by_hand="stop it on every node, then start it on every node with the changed arguments",
    recognise=recognise,
    hand=hand,
)
