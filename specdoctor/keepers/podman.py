"""podman: a container without a daemon."""

from __future__ import annotations

from specdoctor.core.server import Keeper
from specdoctor.keepers.containers import box_of
from specdoctor.keepers.docker import ORIGINAL, SIBLING, UNFIT, hand, of_container
from specdoctor.keepers.row import Row, Seen


def recognise(seen: Seen) -> Keeper | None:
    box = box_of(seen)
    return of_container(seen, box, "podman") if box is not None and box.podman else None


row = Row(
    kind="podman",
    title="podman",
    recognised_by="`libpod-ID` in its cgroup",
    restart=SIBLING,
    way_back=ORIGINAL,
    refused_when=UNFIT,
    by_hand="`podman stop NAME`, then `podman run` as before with the changed arguments",
    recognise=recognise,
    hand=hand,
)
