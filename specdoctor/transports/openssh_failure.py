"""What the ssh client said when it could not log in, as one of our errors."""

from __future__ import annotations

import re
import shlex

from specdoctor.core.errors import (
    AuthenticationRefused,
    HostKeyChanged,
    HostKeyUnknown,
    HostUnreachable,
    TargetError,
)

_SHOWN_LINES = 12
_NOTHING_WAS_SENT = "nothing was sent"
# Lines that only repeat a warning's frame or tell of what went well.
_DECORATION = re.compile(r"^@*$|^@\s.*\s@$|^\s*$")
_CHANGED = re.compile(r"REMOTE HOST IDENTIFICATION HAS CHANGED|[Hh]ost key for .* has changed|REVOKED HOST KEY")
_UNKNOWN = re.compile(r"Host key verification failed|No \S+ host key is known for")
_REFUSED = re.compile(r"Permission denied|Too many authentication failures|no more authentication methods", re.I)


def login_failure(alias: str, said: str, *, code: int, asking: bool, config: str | None) -> TargetError:
    """The error for a log-in that ended with `code` after ssh wrote `said` to standard error."""
    by_hand = shlex.join(["ssh", *(["-F", config] if config else []), alias, "true"])
    lines = [line.rstrip() for line in said.replace("\r", "").splitlines() if not _DECORATION.match(line.strip())]
    shown = "\n".join(f"  {line}" for line in lines[-_SHOWN_LINES:]) or "  (it said nothing)"
    if _CHANGED.search(said):
        return HostKeyChanged(
            f"{alias}: host key has changed, says ssh\n{shown}\n  {_NOTHING_WAS_SENT}",
            tried=by_hand,
            next_step="If the host was reinstalled, remove its old key as ssh says.\n"
            "If it was not, somebody else may be answering in its place.",
        )
    if _UNKNOWN.search(said):
        return HostKeyUnknown(
            f"{alias}: host key is not known, says ssh\n{shown}\n  {_NOTHING_WAS_SENT}",
            tried=by_hand,
            next_step=f"Log in once and compare the fingerprint:  {by_hand}\n"
            "or let it be recorded at this first contact:  --accept-new-host-key",
        )
    if _REFUSED.search(said):
        then = f"Make this work first:  {by_hand}"
        if not asking:
            then += (
                "\nThere is no terminal here, so ssh could ask for nothing (password, one-time code, PIN of a key): "
                "start specdoctor at a terminal, or load the key into an agent."
            )
        return AuthenticationRefused(f"{alias}: log-in was refused, says ssh\n{shown}", tried=by_hand, next_step=then)
    return HostUnreachable(
        f"{alias}: ssh makes no connection (exit {code})\n{shown}",
        tried=by_hand,
        next_step=f"Make this work first:  {by_hand}",
    )
