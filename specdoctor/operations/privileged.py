"""Reading with `sudo -n`: the read-only probe alone, and why it could not be had."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.errors import TargetError
from specdoctor.core.host import CommandResult

_NOT_FOUND = 127
_CAUSES = (
    ("a password is required", "sudo wants a password"),
    ("terminal is required", "sudo wants a password"),
    ("must have a tty", "sudo wants a terminal (requiretty)"),
    ("not in the sudoers", "this account may not use sudo"),
    ("not allowed to execute", "sudo may not run this"),
    ("may not run sudo", "this account may not use sudo"),
    ("no new privileges", "this session may gain no privileges (no_new_privs)"),
)


def under_sudo(argv: Sequence[str]) -> tuple[str, ...]:
    """The same command as root, without ever asking for a password."""
    return ("sudo", "-n", "--", *argv)


def why_no_sudo(result: CommandResult, *, target: str) -> TargetError | None:
    """The error for a command that sudo did not run; None when sudo is not to blame."""
    if result.exit_code == 0:
        return None
    lines = [line.strip() for line in result.error_text.splitlines() if line.strip()]
    what = next((what for said, what in _CAUSES if any(said in line for line in lines)), "")
    if not what and result.exit_code == _NOT_FOUND and any("sudo" in line and "not found" in line for line in lines):
        what = "there is no sudo"
    if not what:
        return None
    return TargetError(
        f"{target}: --sudo was asked for, but {what}; it said: {' | '.join(lines[-2:])}",
        tried="sudo -n, which never asks",
        next_step="leave out --sudo to read what this account may, or let it through without a password:\n"
        "ACCOUNT ALL=(root) NOPASSWD: ALL   in a file of /etc/sudoers.d, written with visudo",
    )
