"""docker, compose included: a container that the docker daemon keeps."""

from __future__ import annotations

from specdoctor.core.server import Keeper, KeeperKind
from specdoctor.keepers.containers import Box, box_of, inspect_reply
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused


def recognise(seen: Seen) -> Keeper | None:
    box = box_of(seen)
    if box is None or box.podman or box.kubernetes:
        return None
    return of_container(seen, box, "docker")


def of_container(seen: Seen, box: Box, tool: KeeperKind) -> Keeper:
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
    return refused(
        tool,
        detail,
        f"{tool} keeps it ({detail}), and only {tool} knows how it was started",
        f"{tool} stop -t 60 {shown} && {tool} run ... (as before, with the changed arguments)",
    )


def _inspected(seen: Seen, identity: str) -> tuple[str, str]:
    """Name and restart policy of a container, from `inspect --format "{{.Name}} {{...RestartPolicy.Name}} ..."`."""
    reply = inspect_reply(seen, identity)
    words = reply.stdout.split() if reply is not None else []
    return (words[0].lstrip("/"), words[1]) if len(words) >= 2 else ("", "")


row = Row(
    kind="docker",
    title="docker, compose",
    recognised_by="a docker id in its cgroup, or a process namespace of its own under docker's folder",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always",
    by_hand="`docker stop NAME`, then `docker run` as before with the changed arguments",
    recognise=recognise,
)
