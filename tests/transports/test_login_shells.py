"""Accounts with other login shells, which greet at log-in: what matters most; the whole contract is in tests/e2e."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from specdoctor.core.errors import CommandTimeout
from tests.transports.conftest import Keys, SshHome
from tests.transports.host_contract import ECHO_ARGUMENTS, HOSTILE
from tests.transports.login_users import SHELLS, server_for, sshd_for_users, why_no_user
from tests.transports.ssh_servers import OpenSshServer, Server

pytestmark = pytest.mark.sshd


@pytest.fixture(scope="module")
def users_sshd(keys: Keys) -> Iterator[OpenSshServer]:
    with sshd_for_users(keys.host, keys.user) as server:
        yield server


@pytest.fixture(params=SHELLS)
def account(request: pytest.FixtureRequest, keys: Keys, ssh_home: SshHome) -> Server:
    """An account with this login shell, known to the configuration as `eagle`."""
    if reason := why_no_user(request.param):
        pytest.skip(reason)
    server = server_for(request.getfixturevalue("users_sshd"), request.param)
    ssh_home.add("eagle", server, key=keys.user)
    ssh_home.know(server.known_hosts())
    return server


def test_what_is_sent_arrives_and_greetings_are_no_output(account: Server, ssh_home: SshHome) -> None:
    with ssh_home.connect("eagle") as host:
        assert host.run(("id", "-un")).text == f"{account.user}\n"
        result = host.run((*ECHO_ARGUMENTS, *HOSTILE.values()))
        assert result.stdout.split(b"\0")[:-1] == [os.fsencode(word) for word in HOSTILE.values()]
        lines: list[str] = []
        result = host.run(("sh", "-c", "cat; echo err >&2; exit 3"), stdin=b"in\n", on_line=lines.append)
        assert (result.exit_code, result.stdout, result.stderr, lines) == (3, b"in\n", b"err\n", ["err"])
        assert host.read_range("/proc/version", length=5) == b"Linux"
        with pytest.raises(CommandTimeout, match="was stopped"):
            host.run(("sleep", "30"), timeout_s=0.3)
