"""podman: a container without a daemon."""

from __future__ import annotations

from specdoctor.core.server import Keeper
from specdoctor.keepers.containers import box_of
from specdoctor.keepers.docker import of_container
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen


def recognise(seen: Seen) -> Keeper | None:
    box = box_of(seen)
    return of_container(seen, box, "podman") if box is not None and box.podman else None


row = Row(
    kind="podman",
    title="podman",
    recognised_by="`libpod-ID` in its cgroup",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always",
    by_hand="`podman stop NAME`, then `podman run` as before with the changed arguments",
    recognise=recognise,
)
