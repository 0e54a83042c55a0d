"""The contract of a host over accounts with other login shells, which greet whoever logs in."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.reach import CLIENTS, make_keys, reached
from tests.transports.conftest import Keys, SshHome
from tests.transports.host_contract import HostContract, Subject
from tests.transports.login_users import (
    HOST_PYTHON,
    SHELLS,
    open_folder,
    server_for,
    sshd_for_users,
    user_of,
    why_no_user,
)
from tests.transports.ssh_servers import KeyPair, OpenSshServer


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def users_sshd(keys: Keys) -> Iterator[OpenSshServer]:
    with sshd_for_users(keys.host, keys.user) as server:
        yield server


@pytest.fixture(
    scope="module",
    params=[(shell, client) for shell in SHELLS for client in CLIENTS],
    ids="-".join,
)
def subject(request: pytest.FixtureRequest, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    shell, client = request.param
    if reason := why_no_user(shell):
        pytest.skip(reason)
    server = server_for(request.getfixturevalue("users_sshd"), shell)
    home = SshHome(tmp_path_factory.mktemp("ssh"))
    home.add("target", server, key=keys.user)
    home.know(server.known_hosts())
    with reached(home, "target", client) as host:
        yield Subject(host, interpreter=HOST_PYTHON, big_bytes=1_000_000, as_root=False)


class TestHost(HostContract):
    @pytest.fixture
    def place(self) -> Iterator[Path]:
        with open_folder() as folder:
            yield folder


@pytest.mark.parametrize("shell", ["bash", "tcsh", "fish"])
def test_these_accounts_do_greet(shell: str, keys: Keys, users_sshd: OpenSshServer, tmp_path: Path) -> None:
    if reason := why_no_user(shell):
        pytest.skip(reason)
    home = SshHome(tmp_path)
    server = server_for(users_sshd, shell)
    home.add("target", server, key=keys.user)
    home.know(server.known_hosts())
    done = subprocess.run(["ssh", "-F", str(home.config), "target", "echo in"], capture_output=True, check=True)
    assert done.stdout.startswith(f"Welcome to {shell}".encode())


@pytest.mark.parametrize("client", CLIENTS)
def test_an_sshd_that_the_account_itself_runs(client: str, keys: Keys, tmp_path: Path) -> None:
    if reason := why_no_user("fish"):
        pytest.skip(reason)
    account = user_of("fish")
    with open_folder() as folder, ExitStack() as stack:
        shutil.copy(keys.host.path, folder / "host_key")
        shutil.chown(folder / "host_key", account)
        own_key = KeyPair(folder / "host_key", keys.host.public, keys.host.public_line)
        sshd = OpenSshServer(folder / "sshd", [own_key], [keys.user], "SetEnv SD_TEST=1", runs_as=account)
        stack.callback(sshd.close)
        home = SshHome(tmp_path)
        home.add("target", sshd.server, key=keys.user)
        home.know(sshd.server.known_hosts())
        host = stack.enter_context(reached(home, "target", client))
        assert host.run(("id", "-un")).text == f"{account}\n"
        assert host.run(("sh", "-c", "exit 7")).exit_code == 7
