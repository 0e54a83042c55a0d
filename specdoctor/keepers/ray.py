"""Ray: actors that a cluster places and starts."""

from __future__ import annotations

from pathlib import PurePosixPath

from specdoctor.core.server import Keeper
from specdoctor.keepers.hand import ByHand, Wanted
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused


def recognise(seen: Seen) -> Keeper | None:
    if seen.traits.ray:
        return refused(
            "ray",
            "its own actors",
            "its processes are Ray actors, which Ray keeps",
            "ray stop, then start it with the changed arguments",
        )
    for parent in seen.ancestors:
        words = [PurePosixPath(word).name for word in parent.argv[:3]] + [parent.comm]
        if "raylet" in words:
            return refused("ray", f"raylet pid {parent.pid}", "it is a Ray worker", "change it where Ray starts it")
    return None


def hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    """Only whoever submitted it knows how."""
    return ByHand(start=f"{keeper.by_hand}: {wanted.line}", back="start it where Ray started it before")


row = Row(
    kind="ray",
    title="Ray",
    recognised_by="a raylet among its ancestors, or a launch line that asks for Ray",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: Ray places and starts its processes",
    by_hand="change the arguments where Ray starts it",
    recognise=recognise,
    hand=hand,
)
