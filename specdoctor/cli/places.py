"""Model folders as users write them: DIR here, HOST:DIR or ssh://HOST/DIR elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specdoctor.core.errors import UsageError
from specdoctor.core.input_file import expanded

if TYPE_CHECKING:
    from specdoctor.app.model_files import ModelFiles
    from specdoctor.core.host import Host
    from specdoctor.core.reach import SshTransport

HERE = "local:"


@dataclass(frozen=True)
class Place:
    """A folder on a host; `host` is an address, a name of the targets file, or `local:`."""

    host: str
    path: str
    label: str


def place_of(text: str) -> Place:
    """Read DIR, HOST:DIR or ssh://[user@]host[:port]/DIR. Raises UsageError when no folder is named."""
    if text.lower().startswith("ssh://"):
        address, slash, path = text[6:].partition("/")
        if not slash or not path or not address:
            raise UsageError(f"{text}: it names no folder", next_step="write ssh://HOST/FOLDER, or HOST:FOLDER")
        return Place(host=f"ssh://{address}", path=f"/{path}", label=text)
    if text.startswith(HERE):
        return place_of("./" + text[len(HERE) :]) if not text[len(HERE) :].startswith("/") else _here(text[len(HERE) :])
    end = text.find("]:") + 1 if text.startswith("[") else text.find(":")
    host, path = text[:end], text[end + 1 :]
    if end <= 0 or "/" in host:
        return _here(text)
    if not path:
        raise UsageError(f"{text}: it names no folder", next_step=f"write {host}:FOLDER")
    return Place(host=host, path=path, label=text)


def _here(text: str) -> Place:
    if not text:
        raise UsageError("an empty name is no folder", next_step="give the folder that holds config.json")
    path = str(expanded(text))
    return Place(host=HERE, path=path if path.startswith(("/", ".")) else f"./{path}", label=text)


class Hosts:
    """Hosts that are connected once, whatever is read from them."""

    def __init__(
        self,
        stack: ExitStack,
        *,
        targets_file: Path | None,
        accept_new: bool,
        ssh_config: Path | None,
        ssh_transport: SshTransport | None,
    ) -> None:
        self._stack = stack
        self._targets_file = targets_file
        self._accept_new = accept_new
        self._ssh_config = ssh_config
        self._ssh_transport = ssh_transport
        self._open: dict[str, Host] = {}

    def files(self, text: str) -> ModelFiles:
        """The folder that a user wrote. Raises UsageError, CheckpointError, and what connecting raises."""
        from specdoctor.assembly.judging import model_files

        place = place_of(text)
        return model_files(self._host(place.host), place.path, label=place.label)

    def place(self, text: str) -> tuple[Host, Place]:
        """The host of a folder that a user wrote, and the folder. Raises UsageError, and what connecting raises."""
        place = place_of(text)
        return self._host(place.host), place

    def text(self, text: str, *, limit: int) -> str:
        """A small text file that a user wrote in the same way."""
        from specdoctor.core.errors import CheckpointError

        place = place_of(text)
        files = self.files(text)
        if not files.single:
            raise CheckpointError(f"{text}: a folder, not a file", next_step="name the file in it")
        return files.whole(place.path.rsplit("/", 1)[-1], limit=limit).decode("utf-8", errors="replace")

    def _host(self, name: str) -> Host:
        if name in self._open:
            return self._open[name]
        from specdoctor.assembly.connections import connect_host
        from specdoctor.cli.output import on_terminal, say
        from specdoctor.cli.passphrase import ask_passphrase

        if name == HERE:
            host = connect_host(HERE)
        else:
            address, config, transport = self._address(name)
            say(f"specdoctor: logging in to {address}")
            host = connect_host(
                address,
                ssh_config=config,
                ssh_transport=transport,
                accept_new=self._accept_new,
                ask_passphrase=ask_passphrase if on_terminal() else None,
                on_notice=say,
            )
        self._stack.callback(host.close)
        self._open[name] = host
        return host

    def _address(self, name: str) -> tuple[str, Path | None, SshTransport]:
        """Where a host is reached: as the targets file says, or by SSH under this name."""
        from specdoctor.cli.targets import default_file, read_targets

        config, transport = self._ssh_config, self._ssh_transport
        if name.startswith("ssh://"):
            return name, config, transport or "auto"
        file = self._targets_file or default_file()
        known = read_targets(file) if file is not None else {}
        if name in known:
            named = known[name]
            own = Path(named.ssh_config) if named.ssh_config else None
            return named.transport, config or own, transport or named.ssh_transport or "auto"
        return f"ssh://{name}", config, transport or "auto"


@contextmanager
def hosts(
    *,
    targets_file: Path | None,
    accept_new: bool,
    ssh_config: Path | None,
    ssh_transport: SshTransport | None,
) -> Iterator[Hosts]:
    """Hosts to read from; all are closed at the end."""
    with ExitStack() as stack:
        yield Hosts(
            stack,
            targets_file=targets_file,
            accept_new=accept_new,
            ssh_config=ssh_config,
            ssh_transport=ssh_transport,
        )
