"""One connection to a host: through every jump host on the way, each one known and each one logged in to."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import Any

import paramiko
from paramiko.ssh_exception import IncompatiblePeer, SSHException

from specdoctor.core.errors import HostUnreachable
from specdoctor.transports.ssh_host_key import Notice, require_trusted
from specdoctor.transports.ssh_keys import KeyRing
from specdoctor.transports.ssh_known_hosts import HostKey, KnownHosts, known_hosts_for
from specdoctor.transports.ssh_login import log_in
from specdoctor.transports.ssh_route import SshHop, SshRoute
from specdoctor.transports.ssh_stream import ProxyProcess, direct, reason, through_jump

AUTH_TIMEOUT_S = 60.0
"""A key may have to be touched or confirmed before its agent signs."""

_RSA_SIGNATURES = ("rsa-sha2-512", "rsa-sha2-256")


@dataclass
class Connection:
    """What is open: a transport for each hop (paramiko's, the host's own last), and the proxy command if any."""

    transports: list[Any] = field(default_factory=list)
    heartbeats: list[Heartbeat] = field(default_factory=list)
    proxy: ProxyProcess | None = None

    @property
    def transport(self) -> Any:
        return self.transports[-1]

    @property
    def alive(self) -> bool:
        return all(transport.is_active() for transport in self.transports)

    def close(self) -> None:
        for heartbeat in self.heartbeats:
            heartbeat.stop()
        for transport in reversed(self.transports):
            transport.close()
        if self.proxy is not None:
            self.proxy.close()


class Heartbeat(threading.Thread):
    """Asks the host for a sign of life; without an answer in time the transport is closed, and whoever waits wakes up.

    A link that died silently (a laptop asleep, a dropped VPN) would otherwise keep a command waiting for ever.
    """

    def __init__(self, transport: Any, *, interval_s: float, limit_s: float) -> None:
        super().__init__(name="ssh-heartbeat", daemon=True)
        self._transport = transport
        self._interval_s = interval_s
        self._limit_s = limit_s
        self._stopped = threading.Event()

    def run(self) -> None:

        while not self._stopped.wait(self._interval_s) and self._transport.is_active():
            alarm = threading.Timer(self._limit_s, self._transport.close)
            alarm.daemon = True
            alarm.start()
            try:
                self._transport.global_request("keepalive@openssh.com", wait=True)
            except (SSHException, OSError, EOFError):
                return
            finally:
                alarm.cancel()

    def stop(self) -> None:
        self._stopped.set()


def connect_route(route: SshRoute, *, keyring: KeyRing, accept_new: bool, on_notice: Notice) -> Connection:
    """Connect and log in along a route.

    Raises HostUnreachable, HostKeyUnknown, HostKeyChanged or AuthenticationRefused, each naming the hop; nothing stays
    open then.
    """
    silence_library()
    connection = Connection()
    complete = False
    try:
        for hop in route.hops:
            _enter(connection, route, hop, keyring=keyring, accept_new=accept_new, on_notice=on_notice)
        complete = True
    finally:
        if not complete:
            connection.close()
    return connection


def silence_library() -> None:
    """paramiko logs what it also raises, and to standard error when nobody listens; what it raises is enough."""
    logger = logging.getLogger("paramiko")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False


def _enter(
    connection: Connection, route: SshRoute, hop: SshHop, *, keyring: KeyRing, accept_new: bool, on_notice: Notice
) -> None:

    transport = paramiko.Transport(_stream_to(connection, hop))
    connection.transports.append(transport)
    transport.banner_timeout = transport.handshake_timeout = hop.connect_timeout_s
    transport.auth_timeout = AUTH_TIMEOUT_S
    known = known_hosts_for(hop)
    _prefer_known_types(transport, known)
    _handshake(connection, transport, hop)
    shown = transport.get_remote_server_key()
    key = HostKey(key_type=shown.get_name(), blob=shown.asbytes())
    require_trusted(route, hop, key, known, accept_new=accept_new, on_notice=on_notice)
    log_in(transport, hop, keyring)
    heartbeat = Heartbeat(transport, interval_s=hop.keepalive_s, limit_s=hop.keepalive_s * hop.keepalive_count)
    heartbeat.start()
    connection.heartbeats.append(heartbeat)


def _stream_to(connection: Connection, hop: SshHop) -> Any:
    if connection.transports:
        return through_jump(connection.transport, hop)
    if hop.proxy_command:
        connection.proxy = ProxyProcess(hop.proxy_command, hop)
        return connection.proxy.stream
    return direct(hop)


def _prefer_known_types(transport: Any, known: KnownHosts) -> None:
    """Ask for the key types that are recorded first: any other one could only be unknown."""
    options = transport.get_security_options()
    offered = list(options.key_types)
    wanted: list[str] = []
    for key_type in known.key_types():
        wanted += _RSA_SIGNATURES if key_type == "ssh-rsa" else [key_type]
    first = [name for name in dict.fromkeys(wanted) if name in offered]
    options.key_types = first + [name for name in offered if name not in first]


def _handshake(connection: Connection, transport: Any, hop: SshHop) -> None:

    try:
        transport.start_client(timeout=2 * hop.connect_timeout_s)
        transport.get_remote_server_key()
    except IncompatiblePeer as error:
        raise HostUnreachable(
            f"{hop.alias}: the SSH server at {hop.address} shares no algorithm with this client: {reason(error)}",
            tried=f"SSH handshake with {hop.address}",
            next_step="Update the SSH server of the host.",
        ) from error
    except (SSHException, OSError, EOFError) as error:
        said = connection.proxy.last_words() if connection.proxy else ""
        speaks = "closed the handshake" if transport.remote_version else "does not answer as an SSH server"
        raise HostUnreachable(
            f"{hop.alias}: {hop.address} {speaks}: {said or reason(error)}",
            tried=f"SSH handshake {'through its ProxyCommand' if hop.proxy_command else 'with ' + hop.address}",
            next_step="Check the port; a busy server may refuse for a moment (MaxStartups), then try again.",
        ) from error
