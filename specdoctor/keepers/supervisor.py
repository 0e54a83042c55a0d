"""Supervisors of processes below the service manager: supervisord, runit, s6, pm2 and their like."""

from __future__ import annotations

import shlex
from itertools import pairwise
from pathlib import PurePosixPath

from specdoctor.core.facts import ProcessFacts
from specdoctor.core.server import Keeper
from specdoctor.keepers.hand import ByHand, Wanted, in_background
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
                {"tool": name, "service": _service(seen, name, parent), "config": _config(parent)},
            )
    return None


def _service(seen: Seen, name: str, parent: ProcessFacts) -> str:
    """What the supervisor calls the server: its folder for runit and s6, a name of its own for the others."""
    if name in ("runsv", "s6-supervise", "supervise") and len(parent.argv) > 1:
        return str(PurePosixPath(parent.cwd or "") / parent.argv[-1])
    name = seen.process.env.get("SUPERVISOR_PROCESS_NAME", "NAME")
    group = seen.process.env.get("SUPERVISOR_GROUP_NAME", name)
    return name if group == name else f"{group}:{name}"


def _config(supervisord: ProcessFacts) -> str:
    """The file that supervisord was told to read, which its tool must be told as well."""
    places = [after for word, after in pairwise(supervisord.argv) if word in ("-c", "--configuration")]
    return str(PurePosixPath(supervisord.cwd or "/") / places[-1]) if places else ""


_COMMANDS = {
    "supervisord": ("supervisorctl stop", "supervisorctl start"),
    "runsv": ("sv down", "sv up"),
    "s6-supervise": ("s6-svc -wD -d", "s6-svc -u"),
    "supervise": ("svc -d", "svc -u"),
    "pm2": ("pm2 stop", "pm2 start"),
    "PM2": ("pm2 stop", "pm2 start"),
    "circusd": ("circusctl stop", "circusctl start"),
    "monit": ("monit stop", "monit start"),
}


def hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    """The supervisor is told to leave it down; afterwards it starts the original itself."""
    tool, service = str(keeper.known.get("tool")), shlex.quote(str(keeper.known.get("service")))
    if tool not in _COMMANDS:
        return ByHand(start=f"{keeper.by_hand}: {wanted.line}", back=f"end that server, then start it through {tool}")
    down, up = _COMMANDS[tool]
    if tool == "supervisord" and keeper.known.get("config"):
        control = shlex.join(["supervisorctl", "-c", str(keeper.known["config"])])
        down, up = f"{control} stop", f"{control} start"
    wait = f"while kill -0 {wanted.pid} 2>/dev/null; do sleep 1; done"
    return ByHand(
        start=f"{down} {service}; {wait}; {in_background(wanted.cwd, wanted.line)}",
        back=f"kill that server, then: {up} {service}",
    )


row = Row(
    kind="supervisor",
    title="supervisord, runit, s6, pm2, ...",
    recognised_by="one of them among its ancestors",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: it would start the server again as it was",
    by_hand="stop it through the supervisor, then start it by hand with the changed arguments",
    recognise=recognise,
    hand=hand,
)
