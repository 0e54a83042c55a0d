"""Containers as a process shows them: which tool made it, its id, and whether we look from inside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from specdoctor.core.facts import CommandFacts, ProcessFacts
from specdoctor.keepers.row import Seen

_CONTAINER = re.compile(
    r"(?:/docker/|docker-)(?P<docker>[0-9a-f]{12,64})|libpod-(?P<podman>[0-9a-f]{12,64})"
    r"|(?P<kube>kubepods)|(?:cri-containerd-|crio-|/containerd/)(?P<other>[0-9a-f]{12,64})"
)
_WAITING_SHELLS = ("sh", "bash", "tini", "dumb-init", "docker-init")
_NEAR_START_S = 120.0
SHORT_ID = 12


@dataclass(frozen=True)
class Box:
    """The container of a server. `inside`: we look from within it, and the server is its main process."""

    identity: str
    podman: bool
    kubernetes: bool
    inside: bool


def box_of(seen: Seen) -> Box | None:
    """The container that keeps the server; None for a process on the host, or one that does not keep its container."""
    process = seen.process
    match = _CONTAINER.search(process.cgroup)
    inside = _looked_at_from_inside(seen)
    if inside and not _main_of_container(seen):
        return None
    if inside:
        if match is None and not process.container_id and process.pid != 1:
            return None
    elif match is None and not process.container_id:
        return None
    return Box(
        identity=short_id(process),
        podman=match is not None and bool(match["podman"]),
        kubernetes=match is not None and bool(match["kube"]),
        inside=inside,
    )


def short_id(process: ProcessFacts) -> str:
    """The first digits of the id of the container that a process lives in, as the tools print it; "" outside."""
    match = _CONTAINER.search(process.cgroup)
    named = (match["docker"] or match["podman"] or match["other"]) if match is not None else None
    return (named or process.container_id or "")[:SHORT_ID]


def inspect_reply(seen: Seen, identity: str) -> CommandFacts | None:
    """What `docker inspect` or `podman inspect` said about a container."""
    for command in seen.facts.commands.values():
        if "inspect" in command.argv and identity and command.argv[-1].startswith(identity):
            return command
    return None


def _looked_at_from_inside(seen: Seen) -> bool:
    """Whether we look from inside the container: then its first process is pid 1 of what we see."""
    first = next((p for p in seen.facts.processes if p.pid == 1), None)
    return first is not None and first.cgroup == seen.process.cgroup


def _main_of_container(seen: Seen) -> bool:
    """Whether ending the server would end the container that we are inside of: its first process waits for it."""
    process, ancestors = seen.process, seen.ancestors
    if process.pid == 1:
        return True
    first = ancestors[0] if ancestors and ancestors[0].pid == 1 else None
    if first is None:
        return False
    if any(name in word for word in first.argv for name in seen.traits.programs):
        return True
    shell = PurePosixPath(first.argv[0]).name if first.argv else ""
    born, began = process.started_at, first.started_at
    soon = born is not None and began is not None and born - began < _NEAR_START_S
    return soon and shell in _WAITING_SHELLS and len(first.argv) > 1
