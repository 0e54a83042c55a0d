"""The server under study, chosen among those that the facts show."""

from __future__ import annotations

import re
from collections.abc import Sequence

from specdoctor.core.engine import Engine
from specdoctor.core.errors import ServerHeld, TargetError
from specdoctor.core.facts import Facts, LeaseFacts
from specdoctor.core.ports import Scene
from specdoctor.core.reach import spoken
from specdoctor.core.server import ServerView

_TEST_LOG = re.compile(r"/specdoctor(?:-\d+)?/(?P<run>[^/]+)/action-[^/]+\.log$")


def scene_of(
    facts: Facts,
    *,
    engines: Sequence[Engine],
    target: str,
    port: int | None = None,
    concurrency: int = 1,
    complaints: Sequence[str] = (),
    own_run: str | None = None,
) -> Scene:
    """Read facts with every engine and choose the server: the one on `port` if given, a living one before a dead one.

    Of several dead ones it is the one whose log was written last.

    Raises TargetError when there is none, or several and no port to choose by, or when it is held by another run than
    `own_run`, or a test launch of one: judging that one would be judging an experiment.
    """
    views = [view for engine in engines for view in engine.servers(facts)]
    chosen = on_port(views, port)
    chosen = [v for v in chosen if v.state != "down"] or chosen
    if not chosen:
        raise TargetError(
            f"{spoken(target)}: {none_found(views, port)}",
            tried="processes, their command lines and logs",
            next_step="start it, or name its log with --log, or check the port",
        )
    if all(v.state == "down" for v in chosen):
        chosen = [max(chosen, key=lambda v: _last_written(v, facts))]
    if len(chosen) > 1:
        raise TargetError(
            f"{spoken(target)}: {len(chosen)} servers were found ({_listed(chosen)})",
            next_step="choose one with --server-port",
        )
    view = chosen[0]
    tester = test_launch_of(view, facts)
    if tester is not None and tester != own_run:
        raise ServerHeld(
            f"{spoken(target)}: {held_text(tester)}",
            tried=f"process {view.ref.pid if view.ref else '?'}, which writes its log for that run",
            next_step=f"wait for its end, or have it put the server back: {resume_line(tester)}",
        )
    holder = _holder(view, facts, port)
    if holder is not None and own_run is not None and holder.run != own_run:
        raise held_by(holder, target, found=f"a server is {view.state} just now")
    return Scene(
        view=view,
        facts=facts,
        others=tuple(v for v in views if v is not view),
        concurrency=concurrency,
        complaints=tuple(complaints),
    )


def held_by(holder: LeaseFacts, target: str, *, found: str) -> ServerHeld:
    """That another run holds the server, and what to wait for."""
    whose = f"run {holder.run} of {holder.who} ({holder.user} on this host)"
    return ServerHeld(
        f"{spoken(target)}: the server is held by specdoctor's {whose}",
        tried=f"port {holder.port}, where {found}",
        next_step=f"wait until that run has put it back; how far it is: specdoctor status {target}",
    )


def on_port(views: Sequence[ServerView], port: int | None) -> list[ServerView]:
    """The servers that `port` can mean: those on it, and those that are down, whose port nobody sees."""
    return [v for v in views if port is None or (v.ref is not None and v.ref.port == port) or v.state == "down"]


def none_found(views: Sequence[ServerView], port: int | None) -> str:
    """That no server was found, and which others there are."""
    where = f" on port {port}" if port else ""
    there = f" (there is {_listed(views)})" if views else ""
    return f"no inference server was found{where}{there}"


def _listed(views: Sequence[ServerView]) -> str:
    return "; ".join(f"port {v.ref.port if v.ref else '?'}: {v.model_path}" for v in views)


def _holder(view: ServerView, facts: Facts, port: int | None) -> LeaseFacts | None:
    """The run that holds this server, also while it is down because that run restarts it."""
    told = view.argument("port")
    known = view.ref.port if view.ref is not None else int(str(told)) if str(told).isdecimal() else port
    if known is None and len(facts.leases) == 1:
        return facts.leases[0]
    return next((lease for lease in facts.leases if lease.port == known), None)


def test_launch_of(view: ServerView, facts: Facts) -> str | None:
    """The run of specdoctor that started this server to test it; such a server writes into that run's folder."""
    process = next((p for p in facts.processes if view.ref is not None and p.pid == view.ref.pid), None)
    found = _TEST_LOG.search(process.stdout or "") if process is not None else None
    return found["run"] if found else None


def held_text(run: str) -> str:
    return f"the server is a test launch of specdoctor's run {run}, which has not put the original back"


def resume_line(run: str) -> str:
    return f"specdoctor investigate --resume {run}"


def _last_written(view: ServerView, facts: Facts) -> float:
    """When the log of a server was last written, seconds since the epoch."""
    return max((log.mtime or 0.0 for log in facts.logs if log.path == view.log_path), default=0.0)
