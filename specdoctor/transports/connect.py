"""From the target a user writes to a host that is connected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specdoctor.core.errors import UsageError
from specdoctor.core.host import Host
from specdoctor.transports.local import LocalHost
from specdoctor.transports.ssh_destination import EXAMPLES, parse_destination

if TYPE_CHECKING:
    from specdoctor.transports.ssh_host_key import Notice
    from specdoctor.transports.ssh_keys import AskPassphrase

LOCAL_TARGET = "local:"
SSH_SCHEME = "ssh://"


def connect(
    target: str,
    *,
    config_file: str | None = None,
    accept_new: bool = False,
    ask_passphrase: AskPassphrase | None = None,
    on_notice: Notice | None = None,
) -> Host:
    """The host `target` names, connected and logged in: `ssh://[user@]host[:port]`, or `local:` for this machine.

    `host` may be an alias of the ssh configuration (`config_file`, or the user's own); IPv6 goes in brackets.
    `ask_passphrase` gets the path of a locked key and returns its passphrase, or None to leave the key out.
    `on_notice` is told what the user should know but need not act on. Raises UsageError for a target or configuration
    that cannot be used, HostUnreachable, HostKeyUnknown, HostKeyChanged, AuthenticationRefused.
    """
    if target == LOCAL_TARGET:
        return LocalHost()
    if not target.lower().startswith(SSH_SCHEME):
        raise _not_a_target(target)
    destination = parse_destination(target)

    from specdoctor.transports.ssh import SshHost
    from specdoctor.transports.ssh_config import resolve_route

    route = resolve_route(destination, config_file=config_file)
    host = SshHost(route, accept_new=accept_new, ask_passphrase=ask_passphrase, on_notice=on_notice)
    return host.open()


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
