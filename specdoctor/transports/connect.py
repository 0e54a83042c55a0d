"""From the target a user writes to a host that is connected."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from specdoctor.core.errors import AuthenticationRefused, HostKeyUnknown, UsageError
from specdoctor.core.host import Host
from specdoctor.core.reach import SshTransport
from specdoctor.transports.local import LocalHost
from specdoctor.transports.ssh_destination import EXAMPLES, SshDestination, parse_destination

if TYPE_CHECKING:
    from specdoctor.transports.ssh_host_key import Notice
    from specdoctor.transports.ssh_keys import AskPassphrase

LOCAL_TARGET = "local:"
SSH_SCHEME = "ssh://"
ASKED_FOR = frozenset({"keyboard-interactive", "password"})
"""Ways to log in that take a person's answer, which ssh itself asks for."""


def connect(
    target: str,
    *,
    config_file: str | None = None,
    ssh_transport: SshTransport = "auto",
    accept_new: bool = False,
    ask_passphrase: AskPassphrase | None = None,
    on_notice: Notice | None = None,
) -> Host:
    """The host `target` names, connected and logged in: `ssh://[user@]host[:port]`, or `local:` for this machine.

    `host` may be an alias of the ssh configuration (`config_file`, or the user's own); IPv6 goes in brackets.
    `ssh_transport` chooses who speaks SSH: paramiko inside this process, the system's ssh client, or (auto) the client
    where the configuration asks for what paramiko cannot do, or the host for a person's answer.
    `ask_passphrase` gets the path of a locked key and returns its passphrase, or None to leave the key out; where it is
    given, the ssh client may ask on the terminal too.
    `on_notice` is told what the user should know but need not act on. Raises UsageError for a target or configuration
    that cannot be used, HostUnreachable, HostKeyUnknown, HostKeyChanged, AuthenticationRefused.
    """
    if target == LOCAL_TARGET:
        return LocalHost()
    if not target.lower().startswith(SSH_SCHEME):
        raise _not_a_target(target)
    destination = parse_destination(target)

    from specdoctor.transports.ssh_config import resolve_route

    def by_client() -> Host:
        return _by_client(destination, config_file, accept_new, ask_passphrase, on_notice)

    if ssh_transport == "openssh":
        return by_client()
    route = resolve_route(destination, config_file=config_file)
    if ssh_transport == "auto" and route.client_only and shutil.which("ssh"):
        _told(on_notice, f"{destination.host}: using the ssh client, for {', '.join(route.client_only)}")
        return by_client()

    from specdoctor.transports.ssh import SshHost

    host = SshHost(route, accept_new=accept_new, ask_passphrase=ask_passphrase, on_notice=on_notice)
    try:
        return host.open()
    except (AuthenticationRefused, HostKeyUnknown) as error:
        why = _why_by_client(error, asking=ask_passphrase is not None)
        if ssh_transport != "auto" or not why or not shutil.which("ssh"):
            raise
        _told(on_notice, f"{destination.host}: {why}")
    return by_client()


def _why_by_client(error: AuthenticationRefused | HostKeyUnknown, *, asking: bool) -> str:
    """Why the ssh client may get in where our own SSH did not; empty if it would be refused in the same way."""
    if isinstance(error, HostKeyUnknown):
        return "a certificate authority vouches for its key; using the ssh client" if error.by_authority else ""
    askable = sorted(ASKED_FOR.intersection(error.accepts)) if asking else []
    return f"no key is accepted; ssh asks for {' or '.join(askable)}" if askable else ""


def _told(on_notice: Notice | None, text: str) -> None:
    if on_notice is not None:
        on_notice(text)


def _by_client(
    destination: SshDestination,
    config_file: str | None,
    accept_new: bool,
    ask_passphrase: AskPassphrase | None,
    on_notice: Notice | None,
) -> Host:
    from specdoctor.transports.openssh import OpenSshHost
    from specdoctor.transports.openssh_master import master_order, ssh_program
    from specdoctor.transports.ssh_config import asking

    settings = asking(ssh_program(), config_file)(destination)
    order = master_order(
        destination,
        settings,
        config_file=config_file,
        accept_new=accept_new,
        asking=ask_passphrase is not None,
    )
    return OpenSshHost(order, on_notice=on_notice).open()


def _not_a_target(target: str) -> UsageError:
    scheme = target.partition(":")[0]
    if "://" in target:
        why = f"{scheme}:// is no way to a host that specdoctor knows"
    elif target.lower().startswith("local"):
        why = "this machine is written local: and nothing after it"
    elif target and not target.startswith("-"):
        why = f"it has no scheme; for a host over SSH write ssh://{target.partition(' ')[0]}"
    else:
        why = "it names no host"
    return UsageError(f"{target!r} cannot be used as a target: {why}", next_step=f"Use one of: {EXAMPLES}")
