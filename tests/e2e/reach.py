"""Real sshd's in strange circumstances, each reached by our own SSH and by the system's client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from specdoctor.core.host import Host
from tests.transports.conftest import Keys, SshHome
from tests.transports.host_contract import Subject
from tests.transports.slow_line import SlowLine
from tests.transports.ssh_servers import KeyPair, OpenSshServer, Server, make_key

CLIENTS = ("paramiko", "openssh")
SEED = 20


def make_keys(folder: Path) -> Keys:
    """As many different keys as the tests here need."""
    user, host = make_key(folder / "user"), make_key(folder / "host")
    unused: KeyPair = make_key(folder / "unused")
    return Keys(folder, user, unused, unused, host, unused, unused, unused)


@contextmanager
def reached(home: SshHome, alias: str, client: str) -> Iterator[Host]:
    """A host of the configuration by one of CLIENTS."""
    opened = home.connect(alias) if client == "paramiko" else home.connect_by_client(alias)
    with opened:
        yield opened


class Sshds:
    """Starts sshd's and writes the configuration that leads to them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.keys = make_keys(folder)
        self.home = SshHome(folder)
        self._folder = folder
        self._stack = stack
        self._count = 0

    def start(self, *options: str, forced: str = "", wrapper: Sequence[str] = ()) -> Server:
        """An sshd that this configuration knows."""
        self._count += 1
        folder = self._folder / f"sshd{self._count}"
        keys = self.keys
        sshd = OpenSshServer(folder, [keys.host], [keys.user], *options, forced=forced, wrapper=wrapper)
        self._stack.callback(sshd.close)
        self.home.know(sshd.server.known_hosts())
        return sshd.server

    def named(self, alias: str, server: Server, *, port: int | None = None, **options: str) -> None:
        """Give a server a name; `options` are keywords of the ssh configuration."""
        self.home.add(alias, server, key=self.keys.user, port=port, **options)


def slow_subject(client: str, folder: Path, stack: ExitStack) -> Subject:
    """A host at the other end of a slow and lossy line."""
    sshds = Sshds(folder, stack)
    server = sshds.start()
    line = SlowLine(server.port, seed=SEED)
    stack.callback(line.close)
    sshds.home.know(server.known_hosts(name="far"))
    sshds.named("target", server, port=line.port, HostKeyAlias="far")
    host = stack.enter_context(reached(sshds.home, "target", client))
    return Subject(host, big_bytes=150_000, pace=5.0)
