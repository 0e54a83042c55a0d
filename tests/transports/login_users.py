"""Accounts with different login shells, made by scripts/make-test-users, and an sshd that root runs for them."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.transports.ssh_servers import KeyPair, OpenSshServer, Server, why_no_sshd

SHELLS = ("bash", "tcsh", "fish", "busybox")
HOW = "run scripts/make-test-users as root, and the tests too"
HOST_PYTHON = "/usr/bin/python3"


def user_of(shell: str) -> str:
    return f"sd-test-{shell}"


def why_no_user(shell: str) -> str:
    """Why nobody can log in with this shell here, or nothing."""
    if reason := why_no_sshd():
        return reason
    if os.getuid() != 0:
        return f"only root can let another account in: {HOW}"
    try:
        pwd.getpwnam(user_of(shell))
    except KeyError:
        return f"there is no account with the login shell {shell}: {HOW}"
    return ""


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every account may use, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="sd-test-"))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def sshd_for_users(host_key: KeyPair, user_key: KeyPair) -> Iterator[OpenSshServer]:
    """An sshd of root's that lets the key in to every account; accounts greet as they do at a real log-in."""
    with open_folder() as folder:
        server = OpenSshServer(folder / "sshd", [host_key], [user_key], "SetEnv SD_TEST=1")
        try:
            yield server
        finally:
            server.close()


def server_for(server: OpenSshServer, shell: str) -> Server:
    """The server as the account with this login shell sees it."""
    known = server.server
    return Server(port=known.port, host_keys=known.host_keys, user=user_of(shell))
