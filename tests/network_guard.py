"""Keeps the tests off the network: only loopback and Unix sockets can be reached, unless a test is marked live."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import pytest


class NetworkForbidden(AssertionError):
    """A test tried to leave this machine. Not an OSError: code that tolerates network errors must not hide it."""


def is_loopback(host: object) -> bool:
    """True for addresses that cannot leave this machine; a name other than localhost is not resolved to find out."""
    if isinstance(host, bytes):
        host = host.decode("ascii", errors="replace")
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(str(host))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


class NetworkGuard:
    """Stands in front of the socket module while installed; `lifted` lets everything pass."""

    def __init__(self) -> None:
        self.lifted = False

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Guard every way to send to an address or to look up a name; `patch` undoes it."""
        for method, position in (("connect", 0), ("connect_ex", 0), ("sendto", -1), ("sendmsg", 3)):
            patch.setattr(socket.socket, method, self._guarded_send(getattr(socket.socket, method), position))
        for function in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
            patch.setattr(socket, function, self._guarded_lookup(getattr(socket, function)))

    def _guarded_send(self, original: Any, position: int) -> Any:
        def send(sock: socket.socket, *args: Any) -> Any:
            if not self.lifted and len(args) > max(position, 0):
                self._require_local(sock, args[position])
            return original(sock, *args)

        return send

    def _guarded_lookup(self, original: Any) -> Any:
        own_name = socket.gethostname()

        def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
            if self.lifted or host in (None, "", own_name) or is_loopback(host):
                return original(host, *args, **kwargs)
            if str(host).endswith(".invalid"):  # reserved for names that never exist
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            if original.__name__ == "getaddrinfo" and _is_address(host):
                return original(host, *args, **kwargs)
            raise NetworkForbidden(f"{original.__name__}({host!r}): tests look up no names but localhost and *.invalid")

        return look_up

    def _require_local(self, sock: socket.socket, address: Any) -> None:
        if sock.family == socket.AF_UNIX or address is None:
            return
        if sock.family in (socket.AF_INET, socket.AF_INET6) and is_loopback(address[0]):
            return
        raise NetworkForbidden(f"a test tried to reach {address!r}; only loopback is allowed, or mark the test live")


def _is_address(host: object) -> bool:
    try:
        ipaddress.ip_address(str(host))
    except ValueError:
        return False
    return True
