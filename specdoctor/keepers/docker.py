"""docker, compose included: a container that the docker daemon keeps."""

from __future__ import annotations

import shlex
from typing import Literal

from pydantic import JsonValue

from specdoctor.core.launch import apply_change
from specdoctor.core.redact import MASK
from specdoctor.core.server import Keeper, KeeperRef
from specdoctor.keepers.containers import Box, box_of, inspect_reply
from specdoctor.keepers.hand import ByHand, Wanted, named_secrets, shell_text
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
        known = {**kept.known, "removed": any("--rm" in text for text in kept.obstacles)}
        return refused(tool, detail, f"{tool} keeps it ({detail}), and {'; '.join(kept.obstacles)}", by_hand, known)
    through = KeeperRef(kind=tool, name=kept.name)
    return Keeper(kind=tool, detail=detail, restartable=True, through=through, remarks=kept.remarks, known=kept.known)


def _inspected(seen: Seen, identity: str) -> tuple[str, str]:
    """Name and restart policy of a container, from `inspect --format "{{.Name}} {{...RestartPolicy.Name}} ..."`."""
    reply = inspect_reply(seen, identity)
    words = reply.stdout.split() if reply is not None else []
    return (words[0].lstrip("/"), words[1]) if len(words) >= 2 else ("", "")


def hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    """The original stopped, and a container made like it run; a secret of its environment comes from the shell."""
    known, tool = keeper.known, keeper.kind
    head, taken, name = known.get("head"), known.get("taken"), shlex.quote(str(known.get("name")))
    if not isinstance(head, list) or not isinstance(taken, int):
        return ByHand(start=f"{keeper.by_hand}; it is to run: {wanted.line}", back=f"{tool} start {name}")
    words = [*map(str, head), *apply_change(wanted.argv, wanted.change)[taken:]]
    options = [shlex.quote(str(each)) for each in _list(known.get("options"))]
    env = known.get("env")
    pairs = {**(env if isinstance(env, dict) else {}), **wanted.change.set_env}
    for variable, value in sorted(pairs.items()):
        if variable not in wanted.change.remove_env:
            options.append("--env=" + shlex.quote(variable if value == MASK else f"{variable}={value}"))
    secrets = named_secrets(words)
    quoted = []
    for word in words[1:]:
        quoted.append(shell_text(word, secrets))
        secrets = secrets[word.count(MASK) :]
    run = f"{tool} run --detach --name {name}-test {' '.join(options)} --entrypoint {shlex.quote(words[0])}"
    back = f"{tool} rm -f {name}-test && {tool} start {name}"
    gone = "stopping it removes it (--rm): keep the command that started it; here:" if known.get("removed") else ""
    return ByHand(
        start=f"{tool} stop -t 60 {name} && {run} {wanted.change.image or known.get('image')} {' '.join(quoted)}",
        back=f"{tool} rm -f {name}-test, then the command that started it" if gone else back,
        first=gone,
    )


def _list(value: JsonValue | None) -> list[JsonValue]:
    return value if isinstance(value, list) else []


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
    hand=hand,
)
