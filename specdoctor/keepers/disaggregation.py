"""Disaggregation: prefill and decode as servers of their own, useless without each other."""

from __future__ import annotations

from specdoctor.core.server import Keeper
from specdoctor.keepers.hand import ByHand, Wanted, by_shell
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused


def recognise(seen: Seen) -> Keeper | None:
    side = seen.traits.disaggregation
    if not side:
        return None
    return refused(
        "disaggregation",
        f"{side} side",
        f"it is the {side} side of a disaggregated pair, whose other side would lose its requests",
        "take it out of the router first, then restart both sides",
    )


def hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    found = by_shell(keeper, wanted)
    first = "take it out of the router first, and restart the other side afterwards too; here:"
    return ByHand(start=found.start, back=found.back, first=first)


row = Row(
    kind="disaggregation",
    title="disaggregated prefill and decode",
    recognised_by="its launch line names the side that it is",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: the other side would lose its requests",
    by_hand="take it out of the router, then restart both sides",
    recognise=recognise,
    hand=hand,
)
