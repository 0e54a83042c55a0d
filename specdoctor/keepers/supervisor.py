"""Supervisors of processes below the service manager: supervisord, runit, s6, pm2 and their like."""

from __future__ import annotations

from pathlib import PurePosixPath

from specdoctor.core.server import Keeper
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused

_NAMES = (
    "supervisord", "s6-supervise", "runsv", "circusd", "monit", "pm2", "PM2", "god", "watchman", "daemontools",
    "supervise",
)  # fmt: skip


def recognise(seen: Seen) -> Keeper | None:
    for parent in seen.ancestors:
        words = [PurePosixPath(word).name for word in parent.argv[:3]] + [parent.comm]
        words += parent.argv[0].split(" ", 1)[:1] if parent.argv else []
        name = next((each for each in _NAMES if each in words), None)
        if name is not None:
            return refused(
                "supervisor",
                f"{name} pid {parent.pid}",
                f"{name} (pid {parent.pid}) started it and would start it again",
                f"stop it through {name}, then start it by hand with the changed arguments",
            )
    return None


row = Row(
    kind="supervisor",
    title="supervisord, runit, s6, pm2, ...",
    recognised_by="one of them among its ancestors",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: it would start the server again as it was",
    by_hand="stop it through the supervisor, then start it by hand with the changed arguments",
    recognise=recognise,
)
