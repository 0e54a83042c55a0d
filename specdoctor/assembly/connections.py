"""Ways to a host, and what can be done there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from specdoctor.assembly.clock import WallClock
from specdoctor.core.errors import UsageError

if TYPE_CHECKING:
    from specdoctor.core.host import Host
    from specdoctor.core.operations import Operations
    from specdoctor.core.reach import SshTransport
    from specdoctor.operations.custody import Custody
    from specdoctor.transports.ssh_host_key import Notice
    from specdoctor.transports.ssh_keys import AskPassphrase


def connect_operations(
    target: str,
    *,
    ssh_config: Path | None = None,
    ssh_transport: SshTransport = "auto",
    via: str | None = None,
    sudo: bool = False,
    accept_new: bool = False,
    interpreter: str | None = None,
    grace_s: float | None = None,
    ask_passphrase: AskPassphrase | None = None,
    on_notice: Notice | None = None,
) -> Operations:
    """Log in to `target`, or into a container on it, and offer what can be done there.

    `grace_s` is how long the guard of a changed server waits for a word from us (its default if None). Raises
    UsageError and the subclasses of TargetError.
    """
    from specdoctor.core.via import parse_via
    from specdoctor.operations.container import ContainerOperations
    from specdoctor.operations.remote import RemoteOperations
    from specdoctor.transports.connect import connect
    from specdoctor.transports.via import ViaHost

    place = parse_via(via) if via is not None else None
    if place is not None and sudo:
        raise UsageError(
            "--sudo reads on the host itself, --via from inside a container: only one of them can be meant",
            next_step="leave out one; from the host, --sudo also sees what runs in its containers",
        )
    host = connect(
        target,
        config_file=str(ssh_config) if ssh_config else None,
        ssh_transport=ssh_transport,
        accept_new=accept_new,
        ask_passphrase=ask_passphrase,
        on_notice=on_notice,
    )
    if place is not None:
        inside = ViaHost(host, place)
        return ContainerOperations(inside, via=place, target=target, clock=WallClock(), interpreter=interpreter)
    given = {} if grace_s is None else {"grace_s": grace_s}
    return RemoteOperations(
        host, target=target, clock=WallClock(), interpreter=interpreter, who=who_asks(), sudo=sudo, **given
    )


def connect_host(
    target: str,
    *,
    ssh_config: Path | None = None,
    ssh_transport: SshTransport = "auto",
    accept_new: bool = False,
    ask_passphrase: AskPassphrase | None = None,
    on_notice: Notice | None = None,
) -> Host:
    """Log in to `target`, to read files there. Raises as connect_operations."""
    from specdoctor.transports.connect import connect

    return connect(
        target,
        config_file=str(ssh_config) if ssh_config else None,
        ssh_transport=ssh_transport,
        accept_new=accept_new,
        ask_passphrase=ask_passphrase,
        on_notice=on_notice,
    )


def connect_custody(
    target: str,
    *,
    ssh_config: Path | None = None,
    ssh_transport: SshTransport = "auto",
    accept_new: bool = False,
    interpreter: str | None = None,
    ask_passphrase: AskPassphrase | None = None,
    on_notice: Notice | None = None,
) -> Custody:
    """Log in to `target`, to see what runs have left there and to put servers back. Raises as connect_operations."""
    from specdoctor.operations.custody import Custody
    from specdoctor.transports.connect import connect

    host = connect(
        target,
        config_file=str(ssh_config) if ssh_config else None,
        ssh_transport=ssh_transport,
        accept_new=accept_new,
        ask_passphrase=ask_passphrase,
        on_notice=on_notice,
    )
    return Custody(host, clock=WallClock(), interpreter=interpreter, target=target)


def who_asks() -> str:
    """The person at this end, as others on the host are told: user@machine."""
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "somebody"
    return f"{user}@{socket.gethostname()}"


def facts_operations(path: Path) -> Operations:
    """Operations over facts that somebody gathered by hand: only reading is possible. Raises UsageError."""
    from specdoctor.operations.facts_file import FactsFileOperations

    return FactsFileOperations(path)
