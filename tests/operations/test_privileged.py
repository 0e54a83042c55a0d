"""Reading with sudo: what runs under it, and what is said when it cannot be had."""

from __future__ import annotations

import pytest

from specdoctor.core.errors import TargetError
from specdoctor.core.host import CommandResult
from specdoctor.core.operations import SnapshotRequest
from specdoctor.operations.interpreter import picking_as_root
from specdoctor.operations.privileged import under_sudo, why_no_sudo
from specdoctor.operations.programs import shell_probe
from specdoctor.operations.remote import RemoteOperations
from specdoctor.transports.recorded import RecordedHost


class Clock:
    def now(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"nothing should wait {seconds} s")


def refused(said: str, code: int = 1) -> TargetError | None:
    return why_no_sudo(CommandResult(argv=("sudo",), exit_code=code, stderr=said.encode()), target="eagle")


@pytest.mark.parametrize(
    ("said", "code", "what"),
    [
        ("sudo: a password is required\n", 1, "sudo wants a password"),
        ("sudo: sorry, you must have a tty to run sudo\n", 1, "sudo wants a terminal (requiretty)"),
        ("ml is not in the sudoers file.\n", 1, "this account may not use sudo"),
        ("Sorry, user ml is not allowed to execute '/bin/sh' as root on eagle.\n", 1, "sudo may not run this"),
        ('sudo: The "no new privileges" flag is set, which prevents sudo from running as root.\n', 1, "no_new_privs"),
        ("sh: 1: sudo: not found\n", 127, "there is no sudo"),
    ],
)
def test_a_sudo_that_does_not_run_it_says_why(said: str, code: int, what: str) -> None:
    error = refused(said, code)
    assert error is not None
    assert error.message.startswith("eagle: --sudo was asked for, but ")
    assert what in error.message
    assert "NOPASSWD" in error.next_step


@pytest.mark.parametrize(("said", "code"), [("", 0), ("Traceback ...\nKeyError\n", 1), ("python3: not found", 127)])
def test_other_failures_are_not_put_down_to_sudo(said: str, code: int) -> None:
    assert refused(said, code) is None


def test_only_the_probe_runs_as_root_and_no_python_of_another_user_is_taken() -> None:
    arguments = (str(SnapshotRequest().log_bytes),)
    probe = under_sudo(picking_as_root(None, fallback=shell_probe(), arguments=arguments))
    assert probe[:4] == ("sudo", "-n", "--", "sh")
    assert "/proc" not in probe[5]
    host = RecordedHost({probe: CommandResult(argv=probe, exit_code=1, stderr=b"sudo: a password is required\n")})
    operations = RemoteOperations(host, target="ssh://eagle", clock=Clock(), sudo=True)
    with pytest.raises(TargetError, match="sudo wants a password"):
        operations.snapshot(SnapshotRequest())
    assert host.calls == [probe]
