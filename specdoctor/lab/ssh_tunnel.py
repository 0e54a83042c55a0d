"""One forwarded connection (direct-tcpip): a channel and a socket, joined until both directions have ended.

asyncssh's own forwarder leaves the channel open when the socket ends first, and `ssh -W` then waits for ever.
"""

from __future__ import annotations

import asyncio

import asyncssh


class Tunnel(asyncssh.SSHTCPSession[bytes]):
    """The channel's side; it owns the socket's side."""

    def __init__(self) -> None:
        self._channel: asyncssh.SSHTCPChannel[bytes] | None = None
        self._socket = _SocketSide(self)
        self._client_done = False
        self._service_done = False

    @classmethod
    async def to(cls, host: str, port: int) -> Tunnel:
        """Connect to a service on loopback. Raises asyncssh.ChannelOpenError when it does not answer."""
        tunnel = cls()
        try:
            await asyncio.get_running_loop().create_connection(lambda: tunnel._socket, host, port)
        except OSError as error:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, error.strerror or str(error)) from error
        return tunnel

    def connection_made(self, chan: asyncssh.SSHTCPChannel[bytes]) -> None:
        self._channel = chan

    def session_started(self) -> None:
        self._socket.transport.resume_reading()

    def data_received(self, data: bytes, datatype: int | None) -> None:
        self._socket.transport.write(data)

    def eof_received(self) -> bool:
        self._client_done = True
        if self._socket.transport.can_write_eof() and not self._socket.transport.is_closing():
            self._socket.transport.write_eof()
        self._close_when_done()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._socket.transport.close()

    def pause_writing(self) -> None:
        self._socket.transport.pause_reading()

    def resume_writing(self) -> None:
        if not self._socket.transport.is_closing():
            self._socket.transport.resume_reading()

    def from_service(self, data: bytes) -> None:
        """Bytes of the service, for the client."""
        if self._channel is not None:
            self._channel.write(data)

    def service_ended(self, *, lost: bool) -> None:
        """The service sends no more; `lost`: it takes no more either."""
        if self._channel is None:
            return
        if not self._service_done:
            self._service_done = True
            self._channel.write_eof()
        if lost:
            self._channel.close()
        self._close_when_done()

    def hold(self, *, full: bool) -> None:
        """Slow the client down while the socket is full."""
        if self._channel is not None:
            if full:
                self._channel.pause_reading()
            else:
                self._channel.resume_reading()

    def _close_when_done(self) -> None:
        if self._client_done and self._service_done:
            self._socket.transport.close()
            if self._channel is not None:
                self._channel.close()


class _SocketSide(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        self._tunnel.from_service(data)

    def eof_received(self) -> bool:
        self._tunnel.service_ended(lost=False)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._tunnel.service_ended(lost=True)

    def pause_writing(self) -> None:
        self._tunnel.hold(full=True)

    def resume_writing(self) -> None:
        self._tunnel.hold(full=False)
