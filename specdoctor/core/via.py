"""A container on the host as the place to look from: its name checked, and what cannot be done from inside it."""

from __future__ import annotations

import re
from typing import Literal

from specdoctor.core.errors import UsageError
from specdoctor.core.model import Frozen
from specdoctor.core.server import Keeper

ViaKind = Literal["docker", "podman", "kubectl"]
FORMS = "docker:NAME, podman:NAME, kubectl:NAMESPACE/POD, kubectl:NAMESPACE/POD/CONTAINER"

# What the tools themselves accept as names; nothing that a shell or an option parser could read anything into.
_CONTAINER = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,254}")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_POD = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_LONGEST_SHOWN = 60


class Via(Frozen):
    """One container: `name` is the container's, or the pod's with `namespace` and perhaps one `container` of it."""

    kind: ViaKind
    name: str
    namespace: str = ""
    container: str = ""

    def __str__(self) -> str:
        parts = (self.namespace, self.name, self.container)
        return f"{self.kind}:{'/'.join(part for part in parts if part)}"


def parse_via(text: str) -> Via:
    """Read one of `FORMS`. Raises UsageError with what is wrong."""
    kind, found, rest = text.partition(":")
    if not found or kind not in ("docker", "podman", "kubectl"):
        raise _refused(text, "it does not begin with docker:, podman: or kubectl:")
    if kind != "kubectl":
        _require(text, _CONTAINER, "container name", rest)
        return Via(kind="podman" if kind == "podman" else "docker", name=rest)
    parts = rest.split("/")
    if len(parts) not in (2, 3):
        raise _refused(text, "a pod is named with its namespace: kubectl:NAMESPACE/POD")
    for pattern, what, part in zip(
        (_LABEL, _POD, _LABEL), ("namespace", "pod name", "container name"), parts, strict=False
    ):
        _require(text, pattern, what, part)
    return Via(kind="kubectl", namespace=parts[0], name=parts[1], container=parts[2] if len(parts) == 3 else "")


def keeper_through(via: str | None) -> Keeper | None:
    """What keeps a server that was reached through a container: never restartable from in there. None without one."""
    if via is None:
        return None
    place = parse_via(via)
    look = f"kubectl -n {place.namespace} describe pod {place.name}" if place.kind == "kubectl" else ""
    return Keeper(
        kind="via",
        detail=via,
        reason=f"it was reached through {via}, and nothing inside a container can start it as {place.kind} does",
        by_hand=look or f"{place.kind} inspect {place.name}",
    )


def _require(text: str, pattern: re.Pattern[str], what: str, value: str) -> None:
    if not value:
        raise _refused(text, f"the {what} is empty")
    if not pattern.fullmatch(value):
        raise _refused(text, f"{value[:_LONGEST_SHOWN]!r} can be no {what}")


def _refused(text: str, why: str) -> UsageError:
    return UsageError(
        f"{text[: 2 * _LONGEST_SHOWN]!r} names no container: {why}",
        next_step=f"write one of: {FORMS}",
    )
