"""How commands end that did not end by themselves, in the same words for every way over SSH."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.errors import CommandTimeout, ConnectionLost, TargetError
from specdoctor.transports.exec_line import program_name


def link_lost(name: str, words: Sequence[str], *, sent: bool) -> ConnectionLost:
    """The connection broke: before the command was `sent`, or while it ran."""
    if not sent:
        return ConnectionLost(
            f"{name}: the connection was lost before {program_name(words)} was sent; it did not run",
            tried="open a session on the connection",
            next_step="Try again; a new connection is made.",
        )
    return ConnectionLost(
        f"{name}: the connection was lost while {program_name(words)} ran; whether it ended is unknown",
        tried="wait for its exit status",
        next_step="Look at the host before doing it again.",
    )


def no_exit_status(name: str, words: Sequence[str]) -> ConnectionLost:
    """The session ended on a connection that lives on."""
    return ConnectionLost(
        f"{name}: the session of {program_name(words)} closed without an exit status; whether the command "
        "ended is unknown",
        tried="wait for its exit status",
        next_step="Something killed it or its session; look at the host before doing it again.",
    )


def timed_out(name: str, words: Sequence[str], timeout_s: float, *, ended: bool) -> CommandTimeout:
    """The command outlived its time; `ended` says that the host confirmed its end."""
    what = "was stopped" if ended else "was asked to stop; whether it did is unknown"
    return CommandTimeout(
        f"{name}: {program_name(words)} did not end within {timeout_s:g} s and {what}",
        tried="TERM, then KILL, to the command and its children",
        next_step="Give it more time, or look at why it hangs.",
    )


def no_session(name: str, words: Sequence[str], said: str) -> TargetError:
    """The host opens no session although none is open."""
    return TargetError(
        f"{name}: the host opens no session: {said}",
        tried=f"open a session for {program_name(words)}; it was not sent",
        next_step="Check that the account may run commands (MaxSessions, ForceCommand, its login shell).",
    )


def none_free(name: str, words: Sequence[str]) -> CommandTimeout:
    """Every session that the host allows was taken until the time was over."""
    return CommandTimeout(
        f"{name}: no session was free for {program_name(words)} in time; it was not sent",
        tried="open a session on the connection",
        next_step="Raise MaxSessions of the host's SSH server, or let the commands under way end.",
    )


def request_refused(name: str, words: Sequence[str], said: str) -> TargetError:
    """The host opened a session and would run nothing in it."""
    return TargetError(
        f"{name}: the host refused to run {program_name(words)}: {said}",
        tried="an exec request on a new session",
        next_step="Check that the account may run commands (ForceCommand, its login shell).",
    )
