"""The lines that start a changed launch of a server and put the original back, as its keeper takes them."""

from __future__ import annotations

import dataclasses

from specdoctor.core.copy_line import making
from specdoctor.core.engine import Engine
from specdoctor.core.launch import ORIGINAL, LaunchChange
from specdoctor.core.ports import Scene
from specdoctor.keepers.hand import ByHand, Wanted
from specdoctor.keepers.table import by_hand

CONTAINERS = ("docker", "podman")


def lines_of(scene: Scene, engine: Engine, change: LaunchChange) -> ByHand | None:
    """What to paste for a launch, and to undo it; None where no server was seen."""
    view, ref = scene.view, scene.view.ref
    if ref is None:
        return None
    process = next((p for p in scene.facts.processes if p.pid == ref.pid), None)
    wanted = Wanted(
        pid=ref.pid,
        cwd=process.cwd or "" if process is not None else "",
        argv=view.argv,
        change=change,
        line=engine.paste_line(view, change),
        original=engine.paste_line(view, ORIGINAL),
    )
    lines = by_hand(view.keeper, wanted)
    if change.copies is None:
        return lines
    return dataclasses.replace(lines, start=f"{making(change.copies)} && {{ {lines.start.rstrip('; ')} }}")


def container_lines(scene: Scene, engine: Engine, change: LaunchChange) -> tuple[str, ...]:
    """Stop, sibling and way back of a server in a container whose making is known; empty for any other."""
    keeper = scene.view.keeper
    if keeper.through.kind not in CONTAINERS or not isinstance(keeper.known.get("head"), list):
        return ()
    lines = lines_of(scene, engine, change)
    return (lines.start, lines.back) if lines is not None else ()
