"""The kinds of keepers in the order in which they are asked: those that forbid a restart before those that allow it."""

from __future__ import annotations

from specdoctor.core.facts import Facts, ProcessFacts
from specdoctor.core.server import Keeper, KeeperRef, LaunchTraits, LifecycleCommands
from specdoctor.keepers import (
    disaggregation,
    docker,
    kubernetes,
    loop,
    nodes,
    plain,
    podman,
    ray,
    router,
    slurm,
    supervisor,
    systemd,
    terminal,
    via,
)
from specdoctor.keepers.hand import ByHand, Wanted
from specdoctor.keepers.row import Row, Seen, ancestors_of

ROWS: tuple[Row, ...] = (
    via.row,
    kubernetes.row,
    slurm.row,
    nodes.row,
    disaggregation.row,
    ray.row,
    router.row,
    docker.row,
    podman.row,
    supervisor.row,
    loop.row,
    systemd.row,
    terminal.row,
    plain.row,
)


def keeper_of(facts: Facts, process: ProcessFacts, traits: LaunchTraits, *, port: int) -> Keeper:
    """Who keeps `process`, which serves on `port`. Restartable only where a restart can be undone without asking."""
    seen = Seen(facts=facts, process=process, ancestors=tuple(ancestors_of(facts, process)), traits=traits, port=port)
    for row in ROWS:
        found = row.recognise(seen)
        if found is not None:
            return found
    return Keeper(kind="unknown", reason="nothing shows who keeps it")


def configured(keeper: Keeper, commands: LifecycleCommands | None) -> Keeper:
    """The keeper as the user's own commands make it: they may do what specdoctor would not do by itself."""
    if commands is None:
        return keeper
    through = KeeperRef(kind="commands", commands=commands)
    detail = f"{keeper.detail}; restarted by the commands of the targets file".lstrip("; ")
    return Keeper(kind=keeper.kind, detail=detail, restartable=True, through=through, remarks=keeper.remarks)


def row_of(keeper: Keeper) -> Row:
    """The row of a recognised keeper."""
    kind = "tmux" if keeper.kind == "screen" else keeper.kind
    return next((row for row in ROWS if row.kind == kind), plain.row)


def how_restarted(keeper: Keeper) -> str:
    """One sentence about how a server that this keeper keeps is restarted."""
    if keeper.through.commands is not None:
        return "its configured stop command, then its start command with the changed arguments"
    return row_of(keeper).restart.replace("`", "")


def by_hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    """The lines to paste for a launch of a server that this keeper keeps."""
    return row_of(keeper).hand(keeper, wanted)
