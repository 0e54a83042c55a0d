"""Hosts that lack something: a root that cannot be written to, sudo that wants a password, no tools to read files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from specdoctor.core.errors import TargetError
from specdoctor.core.host import CommandResult, Host
from specdoctor.core.operations import SnapshotRequest
from specdoctor.operations.remote import RemoteOperations
from specdoctor.transports.local import LocalHost
from specdoctor.transports.ssh_read import read_by_command
from tests.e2e.reach import CLIENTS, Sshds, reached
from tests.transports.conftest import SshHome
from tests.transports.login_users import server_for, sshd_for_users, why_no_user
from tests.transports.ssh_servers import why_no_sshd

pytestmark = pytest.mark.skipif(bool(why_no_sshd()), reason=why_no_sshd() or "sshd is there")

READ_ONLY = ("unshare", "--mount", "sh", "-c", 'mount -o remount,ro,bind / && exec "$@"', "sh")


class Clock:
    def now(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"nothing should wait {seconds} s")


def looking(host: Host, *, sudo: bool = False) -> RemoteOperations:
    return RemoteOperations(host, target=host.name, clock=Clock(), sudo=sudo)


def why_no_read_only_root() -> str:
    if os.getuid() != 0:
        return "only root can make a read-only view of this machine"
    done = LocalHost().run((*READ_ONLY, "sh", "-c", "! touch /tmp/sd-test-written 2>/dev/null"))
    return "" if done.exit_code == 0 else f"no read-only view of this machine: {done.error_text.strip()}"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_read_only_root_is_read_all_the_same(client: str, tmp_path: Path) -> None:
    if reason := why_no_read_only_root():
        pytest.skip(reason)
    with ExitStack() as stack:
        sshds = Sshds(tmp_path, stack)
        sshds.named("target", sshds.start(wrapper=READ_ONLY))
        host = stack.enter_context(reached(sshds.home, "target", client))
        assert host.run(("touch", "/tmp/sd-test-written")).exit_code != 0
        facts = looking(host).snapshot(SnapshotRequest())
        assert facts.host.uid == 0
        assert host.read_range("/proc/version", length=5) == b"Linux"


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Host]:
    """An account that may not become root."""
    if reason := why_no_user("bash"):
        pytest.skip(reason)
    with ExitStack() as stack:
        sshds = Sshds(tmp_path, stack)
        sshd = stack.enter_context(sshd_for_users(sshds.keys.host, sshds.keys.user))
        home = SshHome(tmp_path)
        home.know(sshd.server.known_hosts())
        home.add("target", server_for(sshd, "bash"), key=sshds.keys.user)
        yield stack.enter_context(reached(home, "target", "paramiko"))


def test_a_sudo_that_wants_a_password_says_so(account: Host) -> None:
    if account.run(("sh", "-c", "command -v sudo")).exit_code != 0:
        pytest.skip("no sudo on this machine (Debian: apt-get install sudo)")
    with pytest.raises(
        TargetError, match=r"--sudo was asked for, but (sudo wants a password|this account may not use)"
    ):
        looking(account, sudo=True).snapshot(SnapshotRequest())


def test_a_sudo_that_lets_it_through_reads_as_root_for_the_same_login() -> None:
    local = LocalHost()
    if os.getuid() != 0 or local.run(("sudo", "-n", "true")).exit_code != 0:
        pytest.skip("sudo -n does nothing here")
    facts = looking(local, sudo=True).snapshot(SnapshotRequest())
    assert facts.host.uid == 0
    assert facts.host.python


class _Bare(LocalHost):
    """This machine with nothing but a shell on its PATH."""

    def __init__(self, path: Path, *tools: str) -> None:
        self._path = path
        for tool in ("sh", *tools):
            (path / tool).symlink_to(shutil.which(tool) or "")

    def run(self, argv: Sequence[str], **options: Any) -> CommandResult:
        return super().run(("/usr/bin/env", f"PATH={self._path}", *argv), **options)


@pytest.mark.parametrize(("tools", "missing"), [((), "no tail"), (("tail",), "no head")])
def test_a_host_without_a_tool_to_read_files_says_which(tools: tuple[str, ...], missing: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=f"/proc/version cannot be read: the host has {missing}"):
        read_by_command(_Bare(tmp_path, *tools), "/proc/version", offset=0, length=5)
