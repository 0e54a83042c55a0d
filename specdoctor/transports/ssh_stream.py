"""The stream of bytes an SSH connection runs over: TCP, a channel of a jump host, or a proxy command."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
from typing import Any

from paramiko.ssh_exception import ChannelException, SSHException

from specdoctor.core.errors import HostUnreachable
from specdoctor.transports.ssh_route import SshHop

_FAMILIES = {"any": socket.AF_UNSPEC, "inet": socket.AF_INET, "inet6": socket.AF_INET6}


def direct(hop: SshHop) -> socket.socket:
    """A TCP connection to the first address of a hop that answers; raises HostUnreachable."""
    try:
        addresses = socket.getaddrinfo(hop.hostname, hop.port, _FAMILIES[hop.address_family], socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise HostUnreachable(
            f"{hop.alias}: the name {hop.hostname} cannot be resolved ({reason(error)})",
            tried=f"look up {hop.hostname}",
            next_step="Check the spelling, or give it a HostName in the ssh configuration.",
        ) from error
    failure: OSError = OSError("no address")
    for family, kind, protocol, _, address in addresses:
        stream = socket.socket(family, kind, protocol)
        stream.settimeout(hop.connect_timeout_s)
        try:
            stream.connect(address)
        except OSError as error:
            stream.close()
            failure = error
        else:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return stream
    raise _no_connection(hop, failure)


def _no_connection(hop: SshHop, error: OSError) -> HostUnreachable:
    if isinstance(error, ConnectionRefusedError):
        what, now = "nothing listens there", "Check that sshd runs on the host, and the port."
    elif isinstance(error, TimeoutError):
        what = f"no answer within {hop.connect_timeout_s:g} s"
        now = "Check the network, VPN and firewall; a slow way needs ConnectTimeout in the ssh configuration."
    else:
        what, now = reason(error), "Check the network and the address."
    unreachable = HostUnreachable(
        f"{hop.alias}: no connection to {hop.address}: {what}", tried=f"TCP to {hop.address}", next_step=now
    )
    unreachable.__cause__ = error
    return unreachable


def through_jump(jump: Any, hop: SshHop) -> Any:
    """A channel that the transport `jump` (paramiko's) forwards to a hop; raises HostUnreachable."""

    try:
        return jump.open_channel(
            "direct-tcpip", (hop.hostname, hop.port), ("127.0.0.1", 0), timeout=hop.connect_timeout_s
        )
    except ChannelException as error:
        why = error.text or f"code {error.code}"
    except (SSHException, OSError, EOFError) as error:
        why = reason(error)
    raise HostUnreachable(
        f"{hop.alias}: the jump host before it cannot reach {hop.address}: {why}",
        tried=f"a forwarded connection to {hop.address}",
        next_step="Check the name and port as seen from the jump host, and that it allows forwarding.",
    )


class ProxyProcess:
    """A running ProxyCommand, whose standard input and output are the stream."""

    def __init__(self, command: str, hop: SshHop) -> None:
        """Start it as ssh does, by a shell; raises HostUnreachable."""
        self.stream, theirs = socket.socketpair()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process; `close` closes it
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._said,
                start_new_session=True,
            )
        except OSError as error:
            self.stream.close()
            self._said.close()
            raise HostUnreachable(
                f"{hop.alias}: its ProxyCommand cannot be started: {reason(error)}",
                tried="start it with /bin/sh",
                next_step="Correct ProxyCommand in the ssh configuration.",
            ) from error
        finally:
            theirs.close()

    def last_words(self) -> str:
        """The last line it wrote to its standard error, or nothing."""
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def close(self) -> None:
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2.0)
        self._said.close()


def reason(error: Exception) -> str:
    """What went wrong in a few words, whatever kind of exception the library used."""
    if isinstance(error, EOFError):
        return "closed by the other side"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
