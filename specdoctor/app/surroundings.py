"""Who keeps a server and what it runs in, in one line."""

from __future__ import annotations

from datetime import UTC, datetime

from specdoctor.core.server import ServerView


def surroundings_text(view: ServerView) -> str:
    """Keeper, software, wrappers, nodes, and since when: the start of a container is not that of its host."""
    keeper, around = view.keeper, view.surroundings
    parts = [f"kept by {keeper.kind}{f' ({keeper.detail})' if keeper.detail else ''}"]
    parts += [part for part in (around.software, *around.wrappers) if part]
    if around.nodes > 1:
        parts.append(f"node {around.rank} of {around.nodes}")
    times = (
        ("host up", around.host_booted_at),
        ("container up", around.container_started_at),
        ("server up", view.started_at),
    )
    parts += [f"{what} since {_moment(at)}" for what, at in times if at is not None]
    return "; ".join(parts)


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%d %b %Y %H:%M} UTC"
