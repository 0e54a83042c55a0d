"""Why a container could not be entered, by what its tool said: exactly what is missing, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable

from specdoctor.core.errors import TargetError
from specdoctor.core.host import CommandResult
from specdoctor.core.via import Via

_NOT_FOUND = 127
_SHOWN_LINES = 3
_TRACE = re.compile(r"[EIWF]\d{4} [\d:.]+ ")
"""How kubectl's lines about its own tries begin; what they come to is said after them."""

Explained = tuple[str, str]
"""What is wrong, and what to do next."""


def _no_such(via: Via) -> Explained:
    if via.kind == "kubectl":
        part = f" with a container {via.container}" if via.container else ""
        listing = f"kubectl -n {via.namespace} get pods"
        return f"there is no pod {via.name}{part} in namespace {via.namespace}", f"name one that exists:  {listing}"
    return (
        f"{via.kind} knows no container {via.name}",
        f"name one that runs:  {via.kind} ps --format '{{{{.Names}}}}'",
    )


def _not_running(via: Via) -> Explained:
    if via.kind == "kubectl":
        how = f"kubectl -n {via.namespace} describe pod {via.name}"
        return f"pod {via.name} does not run", f"see why:  {how}"
    return f"container {via.name} does not run", f"see why:  {via.kind} logs --tail 50 {via.name}"


def _no_shell(via: Via) -> Explained:
    return (
        f"the container {via.name} has no `sh`",
        "look at it from its host, without --via: what it runs can be seen there too"
        if via.kind != "kubectl"
        else f"look at it by hand:  kubectl -n {via.namespace} debug -it {via.name} --image=busybox --target=CONTAINER",
    )


def _no_permission(via: Via) -> Explained:
    if via.kind == "kubectl":
        ask = f"kubectl auth can-i create pods/exec -n {via.namespace}"
        return "this account may not run commands in pods", f"ask for the right to; test it with:  {ask}"
    return (
        f"this account may not use {via.kind}",
        "log in as a user who may (the group docker), or leave out --via: the host shows the container's processes too",
    )


def _no_daemon(via: Via) -> Explained:
    if via.kind == "kubectl":
        return "kubectl reaches no cluster from this host", "make this work there first:  kubectl get pods"
    return f"{via.kind} is installed, but its daemon does not answer", "start it, or leave out --via"


# In this order: a message about permission also names the daemon's socket.
_CAUSES: tuple[tuple[str, Callable[[Via], Explained]], ...] = (
    (r"permission denied while trying to connect|Forbidden|forbidden", _no_permission),
    (r"executable file not found|exec: \"sh\"|no such file or directory: OCI|sh: no such file", _no_shell),
    (r"No such container|no container with (?:name|ID)|no such container", _no_such),
    (
        r"pods? \"[^\"]*\" not found|namespaces? \"[^\"]*\" not found|container \S+ is not valid|not found in pod",
        _no_such,
    ),
    (r"is not running|is paused|container state improper|completed pod|unable to upgrade connection", _not_running),
    (
        r"Cannot connect to the \S+ daemon|connection to the server|Unable to connect to the server|no such host",
        _no_daemon,
    ),
)


def no_way_in(via: Via, host: str, result: CommandResult) -> TargetError:
    """The error for a tool that ended with `result` before anything ran inside."""
    lines = [line.strip() for line in result.error_text.splitlines() if line.strip() and not _TRACE.match(line)]
    said = " | ".join(lines[-_SHOWN_LINES:]) or "nothing"
    what, then = _explained(via, result)
    return TargetError(
        f"{via} on {host}: {what} (exit {result.exit_code}); it said: {said}",
        tried=f"{via.kind} exec, as: {' '.join(result.argv[: result.argv.index('sh')])} sh",
        next_step=then,
    )


def _explained(via: Via, result: CommandResult) -> Explained:
    text = result.error_text
    for pattern, explain in _CAUSES:
        if re.search(pattern, text):
            return explain(via)
    if result.exit_code == _NOT_FOUND:
        return f"there is no {via.kind} on the PATH of this account", f"install {via.kind} there, or leave out --via"
    return f"{via.kind} could not run a command in it", "make the same work by hand on the host"
