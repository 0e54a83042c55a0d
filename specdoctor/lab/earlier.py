"""Logs of servers that ran on a practice host before the present one, of which nothing else is left."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from specdoctor.core.launch import LaunchChange, apply_change
from specdoctor.lab.dead_server import life
from specdoctor.lab.engine_core import resolve
from specdoctor.lab.engine_types import Resolved, StartupFailure
from specdoctor.lab.errors import LabError
from specdoctor.lab.host import PracticeHost
from specdoctor.lab.tensors import scan_models
from specdoctor.lab.world import Crash, Earlier, Server, World


def then(world: World, earlier: Earlier) -> World:
    """The world as it was when that server ran."""
    own = world.physics
    factors = {
        "gpu_factor": own.gpu_factor * earlier.gpu_factor,
        "host_factor": own.host_factor * earlier.host_factor,
    }
    crash = Crash(kind="stopped", ago_s=earlier.ended_s_ago)
    server = Server(state="down", started_s_ago=earlier.started_s_ago, crash=crash)
    update = {"physics": own.model_copy(update=factors), "server": server, "history": earlier.history}
    return world.model_copy(update=update)


def earlier_logs(
    world: World,
    argv: Sequence[str],
    *,
    now_s: float,
    resolved: Callable[[list[str], World], Resolved | StartupFailure],
) -> Iterator[tuple[str, float, list[str]]]:
    """(path, seconds since the epoch of its end, lines) of each; `resolved` makes a start of a command line."""
    for earlier in world.earlier:
        past = then(world, earlier)
        words = apply_change(tuple(argv), LaunchChange(label="earlier", remove_flags=earlier.without))
        outcome = resolved(list(words), past)
        if isinstance(outcome, StartupFailure):
            raise LabError(f"{world.name}: the earlier server of {earlier.log} would not have started")
        lines = life(past, outcome, now_s - earlier.started_s_ago, now_s)
        yield earlier.log, now_s - earlier.ended_s_ago, lines


def write_earlier(host: PracticeHost, argv: Sequence[str], *, now_s: float) -> None:
    """Lay the earlier logs on a started host, as old as they are."""
    models = scan_models(host.models_dir, host.world) if host.world.earlier else {}
    settings = {name: host.expand(value) for name, value in host.world.launch.env.items()}

    def resolved(words: list[str], world: World) -> Resolved | StartupFailure:
        return resolve(words, {**host.environment, **settings}, world, models=models)

    for path, ended_at, lines in earlier_logs(host.world, argv, now_s=now_s, resolved=resolved):
        log = Path(host.expand(path))
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        os.utime(log, (ended_at, ended_at))
