"""What one look at a host shows of its servers, as every engine's adapter reads it: port, state, configuration file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal

from specdoctor.core.facts import Facts, HttpReply, LogFacts, ProcessFacts
from specdoctor.core.server import LogReading, ServerView
from specdoctor.engines.process_facts import launchers

State = Literal["running", "starting", "down"]
_UNAUTHORISED = (401, 403)


def servers_shown(
    facts: Facts,
    is_launch: Callable[[Sequence[str]], bool],
    living: Callable[[Facts, ProcessFacts], tuple[ServerView, LogFacts | None]],
    dead: Callable[[Facts, LogFacts], ServerView | None],
) -> tuple[ServerView, ...]:
    """Every server of one engine: first the living, then logs whose process is gone.

    `living` also gives the log that belongs to the process; `dead` None for a log that is none of this engine.
    """
    views: list[ServerView] = []
    used: set[str] = set()
    for process in launchers(facts, is_launch):
        view, own = living(facts, process)
        views.append(view)
        if own is not None:
            used.add(own.path)
    alive = {p.pid for p in facts.processes}
    for log in facts.logs:
        if log.path not in used and log.error is None and log.pid not in alive:
            found = dead(facts, log)
            views += [found] if found is not None else []
    return tuple(views)


def port_of(facts: Facts, asked: int, pids: frozenset[int], *, else_least: bool = False) -> int:
    """The HTTP port: as asked if the tree listens there (or its sockets are not readable), else one that answers.

    Where none answers: the one that was asked for, or the least that the tree listens at.
    """
    listening = {port for p in facts.processes if p.pid in pids for port in p.listen_ports}
    if not listening or asked in listening:
        return asked
    answering = sorted(port for port in listening if str(port) in facts.http)
    return answering[0] if answering else min(listening) if else_least else asked


def state_of(replies: Mapping[str, HttpReply], log: LogReading | None, *, blind: bool) -> State:
    """Whether a server whose process is there runs. `blind`: nothing could be asked of it."""
    statuses = [reply.status for reply in replies.values() if reply.status is not None]
    if any(status < 500 for status in statuses):
        return "running"
    if log is not None and (log.shutdown_line is not None or log.failure is not None):
        return "down"
    if log is None and blind:
        return "running"  # what is there is taken for what it looks like
    return "running" if log is not None and log.ready_line is not None else "starting"


def asks_for_key(replies: Mapping[str, HttpReply]) -> bool:
    """Whether any path was refused for want of an API key."""
    return any(reply.status in _UNAUTHORISED for reply in replies.values())


def config_text(facts: Facts, process: ProcessFacts, name: str | None) -> tuple[str | None, bool]:
    """Text of the --config file, and whether nothing is missing (there is none, or it was read)."""
    if name is None:
        return None, True
    for path in (name, str(PurePosixPath(process.cwd or "/") / name)):
        if path in facts.files and facts.files[path].text is not None:
            return facts.files[path].text, True
    return None, False
