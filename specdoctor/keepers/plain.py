"""Nobody but a person's own command line."""

from __future__ import annotations

import re

from specdoctor.core.server import Keeper
from specdoctor.keepers.row import Row, Seen

# What a person starts programs from; none of them starts a server again when it ends.
_BY_HAND = re.compile(
    r"-?(?:sh|bash|dash|zsh|fish|ksh|tcsh|csh|ash|busybox|sshd.*|sudo|su|login|tmux.*|screen|script|nohup|setsid|init|systemd"
    r"|tini|dumb-init|docker-init|catatonit|conda|mamba|micromamba|uv|poetry|pipenv|time|env|numactl|taskset|nice)",
    re.I,
)


def recognise(seen: Seen) -> Keeper:
    parent = seen.ancestors[0] if seen.ancestors else None
    if parent is None or parent.pid == 1 or not parent.comm:
        return Keeper(kind="plain", detail="started by hand", restartable=True)
    detail = f"started by hand, under {parent.comm} (pid {parent.pid})"
    loop = next((p for p in seen.ancestors if p.script_loop is not None and p.script_loop.how != "unread"), None)
    if loop is not None and loop.script_loop is not None:
        remark = (
            f"line {loop.script_loop.line} of {loop.script_loop.path} (process {loop.pid}) starts it in a loop: "
            "allow this only if that does not start it again"
        )
        return Keeper(kind="plain", detail=detail, restartable=True, remarks=(remark,))
    if _BY_HAND.fullmatch(parent.comm):
        return Keeper(kind="plain", detail=detail, restartable=True)
    line = " ".join(parent.argv)[:120] or parent.comm
    remark = (
        f"process {parent.pid} ({line}) started it and is still there: allow this only if it does not start it again"
    )
    return Keeper(kind="plain", detail=detail, restartable=True, remarks=(remark,))


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
