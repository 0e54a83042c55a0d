"""Nobody but a person's own command line."""

from __future__ import annotations

from specdoctor.core.server import Keeper
from specdoctor.keepers.row import Row, Seen


def recognise(seen: Seen) -> Keeper:
    parent = seen.ancestors[0] if seen.ancestors else None
    shell = (
        f", under {parent.comm} (pid {parent.pid})" if parent is not None and parent.pid != 1 and parent.comm else ""
    )
    return Keeper(kind="plain", detail=f"started by hand{shell}", restartable=True)


row = Row(
    kind="plain",
    title="plain process (by hand, nohup, a script)",
    recognised_by="none of the others",
    restart="SIGTERM to the launcher, then the same program with the changed arguments in the same surroundings",
    way_back="arguments, environment, directory, user, limits, priority, affinity, memory policy and streams, recorded "
    "on the host before the stop",
    refused_when="a part of that record cannot be read or given again, or the server belongs to another user",
    by_hand="`kill PID`, then the changed line",
    recognise=recognise,
)
