"""The server under study, chosen among those that the facts show."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.engine import Engine
from specdoctor.core.errors import TargetError
from specdoctor.core.facts import Facts
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView


def scene_of(
    facts: Facts,
    *,
    engines: Sequence[Engine],
    target: str,
    port: int | None = None,
    concurrency: int = 1,
    complaints: Sequence[str] = (),
) -> Scene:
    """Read facts with every engine and choose the server: the one on `port` if given, a living one before a dead one.

    Of several dead ones it is the one whose log was written last.

    Raises TargetError when there is none, or several and no port to choose by.
    """
    views = [view for engine in engines for view in engine.servers(facts)]
    chosen = [v for v in views if port is None or (v.ref is not None and v.ref.port == port) or v.state == "down"]
    chosen = [v for v in chosen if v.state != "down"] or chosen
    if not chosen:
        raise TargetError(
            f"{target}: no inference server was found",
            tried="processes, their command lines and logs" + (f", port {port}" if port else ""),
            next_step="start it, or name its log with --log, or check the port",
        )
    if all(v.state == "down" for v in chosen):
        chosen = [max(chosen, key=lambda v: _last_written(v, facts))]
    if len(chosen) > 1:
        listed = "; ".join(f"port {v.ref.port if v.ref else '?'}: {v.model_path}" for v in chosen)
        raise TargetError(
            f"{target}: {len(chosen)} servers were found ({listed})",
            next_step="choose one with --server-port",
        )
    view = chosen[0]
    return Scene(
        view=view,
        facts=facts,
        others=tuple(v for v in views if v is not view),
        concurrency=concurrency,
        complaints=tuple(complaints),
    )


def _last_written(view: ServerView, facts: Facts) -> float:
    """When the log of a server was last written, seconds since the epoch."""
    return max((log.mtime or 0.0 for log in facts.logs if log.path == view.log_path), default=0.0)
