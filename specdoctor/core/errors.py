"""The tree of errors, and the one place that maps them to exit codes."""

from __future__ import annotations

from typing import ClassVar


class SpecdoctorError(Exception):
    """Base of all expected failures: says what was tried, what came back, and what to do now.

    `next_step` is printed after the message, so that no error leaves the reader without a way on.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, tried: str = "", next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.tried = tried
        self.next_step = next_step


class UsageError(SpecdoctorError):
    """The command line, a playbook or a targets file is wrong; nothing was done."""

    exit_code = 2


class CheckpointError(UsageError):
    """A model's files are missing, cannot be read, or are damaged; nothing in them was executed."""


class TargetError(SpecdoctorError):
    """The host or the server under study could not be reached, or is down."""

    exit_code = 5


class ServerGone(TargetError):
    """The process that is meant, or what the run had left of an action, is gone: somebody has changed the host."""


class ServerHeld(TargetError):
    """Another run holds the server, or a test launch of one runs in its place: it is left to that run."""


class HostUnreachable(TargetError):
    """No connection: name, port, route or time-out."""


class HostKeyUnknown(TargetError):
    """The host has no entry in any known_hosts file and nobody allowed a first-contact trust.

    `by_authority`: a certificate authority is trusted for it, whose certificates only the ssh client checks.
    """

    def __init__(self, message: str, *, tried: str = "", next_step: str = "", by_authority: bool = False) -> None:
        super().__init__(message, tried=tried, next_step=next_step)
        self.by_authority = by_authority


class HostKeyChanged(TargetError):
    """The host shows another key than the recorded one; nothing was sent."""


class AuthenticationRefused(TargetError):
    """The host accepted none of the keys that were offered. `accepts` lists the ways it would let somebody in."""

    def __init__(self, message: str, *, tried: str = "", next_step: str = "", accepts: tuple[str, ...] = ()) -> None:
        super().__init__(message, tried=tried, next_step=next_step)
        self.accepts = accepts


class ConnectionLost(TargetError):
    """The link broke while a command ran: whether the command ended is unknown."""


class CommandTimeout(TargetError):
    """A remote command did not end in time; it was asked to stop."""


class EngineError(SpecdoctorError):
    """An engine's output could not be understood, or the engine refused what was asked."""

    exit_code = 5


class PlannerError(SpecdoctorError):
    """A planner proposed something that cannot be carried out."""

    exit_code = 70


class PolicyError(SpecdoctorError):
    """A move was refused by the rules of the run."""

    exit_code = 4


class ApprovalNeeded(PolicyError):
    """The run stops here until somebody allows the next batch; it can be resumed."""

    exit_code = 4


class StoreError(SpecdoctorError):
    """The run database or a transcript cannot be read or written."""

    exit_code = 5


class OutputError(StoreError):
    """There is no room for what specdoctor writes on this machine; the server is as it was found."""

    exit_code = 74


class LedgerError(SpecdoctorError):
    """An event contradicts the ledger's rules (for example closing a hypothesis without evidence)."""

    exit_code = 70


EXIT_OK = 0
EXIT_MISMATCH = 1
EXIT_USAGE = 2
EXIT_INCONCLUSIVE = 3
EXIT_APPROVAL = 4
EXIT_OUTSIDE = 5
EXIT_BUG = 70
EXIT_STORAGE = 74
EXIT_INTERRUPTED = 130
EXIT_UNREAD = 141
"""Whoever read standard output has left, as `head` does: what a program ends with that SIGPIPE ends."""
