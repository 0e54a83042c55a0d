"""Logging in to a host with the user's keys, and saying which were offered when it refuses them."""

from __future__ import annotations

from typing import Any

from paramiko.ssh_exception import AuthenticationException, BadAuthenticationType, SSHException

from specdoctor.core.errors import AuthenticationRefused
from specdoctor.transports.ssh_auth import Authentication
from specdoctor.transports.ssh_keys import Candidate, KeyRing
from specdoctor.transports.ssh_route import SshHop
from specdoctor.transports.ssh_stream import reason


def log_in(transport: Any, hop: SshHop, keyring: KeyRing) -> None:
    """Log in on a transport (paramiko's) whose host is trusted, with keys only; raises AuthenticationRefused."""
    authentication = Authentication(transport, hop.user)
    try:
        authentication.by_nothing()
    except BadAuthenticationType as error:
        accepted = list(error.allowed_types)
    except (SSHException, OSError, EOFError) as error:
        raise _refused(hop, [], [], keyring, why=f"the connection was closed at log-in: {reason(error)}") from error
    else:
        return
    if "publickey" not in accepted:
        raise _refused(hop, [], accepted, keyring, why="the host accepts no keys at all")
    offered: list[Candidate] = []
    for candidate in keyring.candidates(hop):
        offered.append(candidate)
        try:
            still_needed = authentication.by_key(candidate.key)
        except (SSHException, OSError, EOFError) as error:
            if not transport.is_active():
                break
            if not isinstance(error, AuthenticationException):
                keyring.problems.append(f"{candidate.label} cannot sign ({reason(error)})")
            continue
        if still_needed:
            why = f"the key is accepted, but the host also asks for {', '.join(still_needed)}, which is not supported"
            raise _refused(hop, offered, accepted, keyring, why=why)
        return
    closed = "" if transport.is_active() else "the host closed the connection after the last one"
    raise _refused(hop, offered, accepted, keyring, why=closed)


def _refused(
    hop: SshHop, offered: list[Candidate], accepted: list[str], keyring: KeyRing, *, why: str
) -> AuthenticationRefused:
    lines = [f"{hop.alias}: log-in as {hop.user} was refused"]
    if why:
        lines.append(f"  {why}")
    lines += [f"  offered  {candidate.label}" for candidate in offered]
    if not offered:
        lines.append("  offered  no key")
    lines += [f"  left out {problem}" for problem in keyring.problems]
    if accepted:
        lines.append(f"  accepts  {', '.join(accepted)}")
    identities = ", ".join(hop.identity_files) or "no identity file"
    agent = f"the agent at {hop.agent}" if hop.agent else "no agent"
    return AuthenticationRefused(
        "\n".join(lines),
        tried=f"{agent}; {identities}",
        next_step=f"Name the right key with IdentityFile in the ssh configuration or ssh-add it, or have one of these "
        f"added to authorized_keys of {hop.user} on the host. With --ssh openssh at a terminal, "
        "ssh itself asks for a password or a one-time code.",
        accepts=tuple(accepted),
    )
