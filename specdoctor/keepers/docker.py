"""docker, compose included: a container that the docker daemon keeps."""

from __future__ import annotations

from typing import Literal

from specdoctor.core.server import Keeper, KeeperRef
from specdoctor.keepers.containers import Box, box_of, inspect_reply
from specdoctor.keepers.row import Row, Seen, refused


def recognise(seen: Seen) -> Keeper | None:
    box = box_of(seen)
    if box is None or box.podman or box.kubernetes:
        return None
    return of_container(seen, box, "docker")


def of_container(seen: Seen, box: Box, tool: Literal["docker", "podman"]) -> Keeper:
    """A container of docker or podman, whose commands are alike."""
    if box.inside:
        return refused(
            tool,
            "main process of its container",
            "it is the main process of the container we are in, which would end with it",
            "restart the container from its host with the changed arguments",
        )
    name, policy = _inspected(seen, box.identity)
    shown = name or box.identity
    detail = f"container {shown}" + (f", restart policy {policy}" if policy and policy != "no" else "")
    by_hand = f"{tool} stop -t 60 {shown} && {tool} run ... (as before, with the changed arguments)"
    kept = next((k for k in seen.facts.kept if k.pid == seen.process.pid and k.name.startswith(box.identity)), None)
    if kept is None:
        reason = f"{tool} keeps it ({detail}), and only {tool} knows how it was started"
        return refused(tool, detail, reason, by_hand)
    if kept.obstacles:
        return refused(tool, detail, f"{tool} keeps it ({detail}), and {'; '.join(kept.obstacles)}", by_hand)
    through = KeeperRef(kind=tool, name=kept.name)
    return Keeper(kind=tool, detail=detail, restartable=True, through=through, remarks=kept.remarks)


def _inspected(seen: Seen, identity: str) -> tuple[str, str]:
    """Name and restart policy of a container, from `inspect --format "{{.Name}} {{...RestartPolicy.Name}} ..."`."""
    reply = inspect_reply(seen, identity)
    words = reply.stdout.split() if reply is not None else []
    return (words[0].lstrip("/"), words[1]) if len(words) >= 2 else ("", "")


SIBLING = (
    "the original is stopped; a sibling made from its inspection (image id, mounts, devices, shared memory, network, "
    "limits, environment, entrypoint) runs the changed command under labels of the run"
)
ORIGINAL = (
    "the sibling is removed (proved by label and id), and the original, which was neither edited nor removed, is "
    "started"
)
UNFIT = (
    "it was started with `--rm`, a swarm or a unit keeps the container, its command is not the running one (a shell's "
    "script), a part of its inspection cannot be said to `create`, or this login may not command the engine or read "
    "its process"
)

row = Row(
    kind="docker",
    title="docker, compose",
    recognised_by="a docker id in its cgroup, or a process namespace of its own under docker's folder",
    restart=SIBLING,
    way_back=ORIGINAL,
    refused_when=UNFIT,
    by_hand="`docker stop NAME`, then `docker run` as before with the changed arguments",
    recognise=recognise,
)
