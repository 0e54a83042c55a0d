"""Keys, servers on loopback and ssh configurations that point at them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from specdoctor.core.host import Host
from specdoctor.core.reach import SshTransport
from specdoctor.transports.connect import connect
from specdoctor.transports.openssh import OpenSshHost
from specdoctor.transports.ssh import SshHost
from tests.transports.ssh_servers import (
    LOOPBACK,
    InProcessServer,
    KeyPair,
    OpenSshServer,
    Server,
    make_key,
    why_no_sshd,
)


@dataclass(frozen=True)
class Keys:
    """Made once: they are only read."""

    folder: Path
    user: KeyPair
    stranger: KeyPair
    locked: KeyPair
    host: KeyPair
    host_ecdsa: KeyPair
    host_rsa: KeyPair
    other_host: KeyPair

    passphrase = "open sesame"


@dataclass
class SshHome:
    """A folder with an ssh configuration and a known_hosts file, as a user would have them."""

    folder: Path
    notices: list[str] = field(default_factory=list)

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def add(self, alias: str, server: Server, *, key: KeyPair | None, port: int | None = None, **options: str) -> None:
        """An entry for a server; further options are configuration keywords and win over what is set here."""
        settings = {
            "HostName": LOOPBACK,
            "Port": str(port or server.port),
            "User": server.user,
            "UserKnownHostsFile": str(self.known_hosts),
            "GlobalKnownHostsFile": "none",
            "IdentityAgent": "none",
            "IdentityFile": str(key.path) if key else "none",
            "ConnectTimeout": "10",
            **options,
        }
        lines = [f"Host {alias}", *(f"  {keyword} {value}" for keyword, value in settings.items())]
        with self.config.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def know(self, lines: str) -> None:
        with self.known_hosts.open("a", encoding="utf-8") as file:
            file.write(lines)

    def connect(
        self, alias: str, *, accept_new: bool = False, ask_passphrase: Callable[[str], str | None] | None = None
    ) -> SshHost:
        """Connect with our own SSH."""
        host = self.reach(alias, ssh_transport="paramiko", accept_new=accept_new, ask_passphrase=ask_passphrase)
        assert isinstance(host, SshHost)
        return host

    def connect_by_client(self, alias: str, *, accept_new: bool = False) -> OpenSshHost:
        """Connect with the system's ssh client."""
        host = self.reach(alias, ssh_transport="openssh", accept_new=accept_new)
        assert isinstance(host, OpenSshHost)
        return host

    def reach(
        self,
        alias: str,
        *,
        ssh_transport: SshTransport = "auto",
        accept_new: bool = False,
        ask_passphrase: Callable[[str], str | None] | None = None,
    ) -> Host:
        return connect(
            f"ssh://{alias}",
            config_file=str(self.config),
            ssh_transport=ssh_transport,
            accept_new=accept_new,
            ask_passphrase=ask_passphrase,
            on_notice=self.notices.append,
        )


SHIMS = Path(__file__).with_name("shims")
"""docker, podman and kubectl that run commands on this machine, with the words of the real ones."""


@contextmanager
def shims_on_path() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(SHIMS), prepend=os.pathsep)
        yield


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    folder = tmp_path_factory.mktemp("keys")
    return Keys(
        folder=folder,
        user=make_key(folder / "user"),
        stranger=make_key(folder / "stranger"),
        locked=make_key(folder / "locked", passphrase=Keys.passphrase),
        host=make_key(folder / "host"),
        host_ecdsa=make_key(folder / "host_ecdsa", kind="ecdsa-sha2-nistp256"),
        host_rsa=make_key(folder / "host_rsa", kind="ssh-rsa"),
        other_host=make_key(folder / "other_host"),
    )


@pytest.fixture
def ssh_home(tmp_path: Path) -> SshHome:
    return SshHome(folder=tmp_path)


StartServer = Callable[..., InProcessServer]


@contextmanager
def in_process_servers(keys: Keys) -> Iterator[StartServer]:
    servers: list[InProcessServer] = []

    def start(
        *, host_keys: tuple[KeyPair, ...] = (), allowed: tuple[KeyPair, ...] | None = (), **options: object
    ) -> InProcessServer:
        lets_in = None if allowed is None else frozenset(key.public_line.split()[1] for key in allowed or (keys.user,))
        server = InProcessServer(host_keys or (keys.host,), lets_in, **options)
        servers.append(server)
        return server

    try:
        yield start
    finally:
        for server in servers:
            server.close()


@pytest.fixture
def start_server(keys: Keys) -> Iterator[StartServer]:
    """Starts SSH servers inside this process; they let in the user's key unless told otherwise."""
    with in_process_servers(keys) as start:
        yield start


@pytest.fixture(scope="session")
def in_process(keys: Keys) -> Iterator[InProcessServer]:
    """One in-process server for all tests that only use it."""
    with in_process_servers(keys) as start:
        yield start()


@pytest.fixture(scope="session")
def openssh(keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSshServer]:
    """One real sshd for all tests that only use it; skips where there is none."""
    if reason := why_no_sshd():
        pytest.skip(reason)
    server = OpenSshServer(tmp_path_factory.mktemp("sshd"), [keys.host, keys.host_ecdsa, keys.host_rsa], [keys.user])
    yield server
    server.close()


@pytest.fixture
def start_openssh(keys: Keys, tmp_path: Path) -> Iterator[Callable[..., OpenSshServer]]:
    """Starts sshd with further configuration lines; skips where there is none."""
    if reason := why_no_sshd():
        pytest.skip(reason)
    servers: list[OpenSshServer] = []

    def start(*options: str) -> OpenSshServer:
        server = OpenSshServer(tmp_path / f"sshd{len(servers)}", [keys.host], [keys.user], *options)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()
