"""tmux and screen: a terminal that outlives its user's connection."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from specdoctor.core.facts import ProcessFacts
from specdoctor.core.server import Keeper
from specdoctor.keepers.row import Row, Seen, refused


def recognise(seen: Seen) -> Keeper | None:
    for distance, parent in enumerate(seen.ancestors):
        name = _name(parent)
        if name is None:
            continue
        if distance == 0:
            return refused(
                name,
                f"{name} pid {parent.pid}, without a shell",
                f"it is the command of its {name} window itself, which closes when it ends",
                f"start it with the changed arguments in another window of {name}",
            )
        shell = seen.ancestors[0]
        detail = f"in {name} (pid {parent.pid}), under {shell.comm or 'a shell'} (pid {shell.pid})"
        return Keeper(kind=name, detail=detail, restartable=True)
    return None


def _name(process: ProcessFacts) -> Literal["tmux", "screen"] | None:
    program = PurePosixPath(process.argv[0]).name if process.argv else ""
    if process.comm.startswith("tmux") or program == "tmux":
        return "tmux"
    return "screen" if process.comm.lower() == "screen" or program.lower() == "screen" else None


row = Row(
    kind="tmux",
    title="tmux, screen",
    recognised_by="one of them among its ancestors",
    restart="as a plain process, while a shell of its window waits for it",
    way_back="as of a plain process; its output goes to the same terminal again",
    refused_when="it is the window's own command: the window closes when it ends",
    by_hand="start it with the changed arguments in another window",
    recognise=recognise,
)
