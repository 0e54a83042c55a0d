"""The language of a control socket: what `ssh` itself says to a running master (PROTOCOL.mux of OpenSSH, version 4).

Spoken directly rather than by a client process for each command, because only then the ending is told exactly: an exit
status that the host reported, a session that closed without one, and a master that is gone are three things here, and
one exit code 255 there.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Literal, Self

from specdoctor.core.model import Frozen

VERSION = 4
_HELLO = 0x00000001
_NEW_SESSION = 0x10000002
_TERMINATE = 0x10000005
_PERMISSION_DENIED = 0x80000002
_FAILURE = 0x80000003
_EXIT_MESSAGE = 0x80000004
_SESSION_OPENED = 0x80000006
_NO_ESCAPE = 0xFFFFFFFF
_LARGEST_PACKET = 256 * 1024
_EXIT_BYTES = 12
_CHUNK_BYTES = 65536

NoteKind = Literal["opened", "refused", "exit", "other"]


class MuxNote(Frozen):
    """One message of the master about a session."""

    kind: NoteKind
    exit_code: int | None = None
    reason: str = ""


class MuxGone(Exception):
    """The master closed the control connection, or does not answer on it."""


class ControlConnection:
    """One connection to a master's control socket; it carries at most one session, and keeps the master while open."""

    def __init__(self, path: str, *, timeout_s: float) -> None:
        """Connect and exchange greetings. Raises MuxGone."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._received = b""
        try:
            self._socket.settimeout(timeout_s)
            self._socket.connect(path)
            self._send(struct.pack(">II", _HELLO, VERSION))
            self._greeted(time.monotonic() + timeout_s)
        except (OSError, MuxGone) as error:
            self._socket.close()
            raise MuxGone(str(error)) from error
        self._socket.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def alive(self) -> bool:
        """Whether the master still holds the other end."""
        try:
            return self._socket.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def ask_for_session(self, command: str, streams: Sequence[int], *, timeout_s: float) -> None:
        """Ask the master to run `command` on the host with these three descriptors as its streams. Raises MuxGone."""
        flags = struct.pack(">IIIII", 0, 0, 0, 0, _NO_ESCAPE)  # tty, X11, agent, subsystem, escape character
        request = struct.pack(">II", _NEW_SESSION, 0) + _string(b"") + flags + _string(b"") + _string(command.encode())
        try:
            self._socket.settimeout(timeout_s)
            self._send(request)
            for stream in streams:
                socket.send_fds(self._socket, [b"\0"], [stream])
        except OSError as error:
            raise MuxGone(str(error)) from error
        finally:
            with contextlib.suppress(OSError):
                self._socket.setblocking(False)

    def notes(self) -> Iterator[MuxNote]:
        """What has arrived, without waiting. Raises MuxGone when the other end is closed."""
        while True:
            try:
                chunk = self._socket.recv(_CHUNK_BYTES)
            except BlockingIOError:
                break
            except OSError as error:
                raise MuxGone(str(error)) from error
            if not chunk:
                yield from self._whole()
                raise MuxGone("closed")
            self._received += chunk
        yield from self._whole()

    def end_master(self, *, timeout_s: float) -> None:
        """Ask the master to end, and wait until it has; a master that is gone already is fine."""
        with contextlib.suppress(OSError):
            self._socket.settimeout(timeout_s)
            self._send(struct.pack(">II", _TERMINATE, 0))
            while self._socket.recv(_CHUNK_BYTES):
                pass

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, packet: bytes) -> None:
        self._socket.sendall(struct.pack(">I", len(packet)) + packet)

    def _greeted(self, deadline: float) -> None:
        while (packet := self._packet()) is None:
            if time.monotonic() > deadline:
                raise MuxGone("no greeting")
            chunk = self._socket.recv(_CHUNK_BYTES)
            if not chunk:
                raise MuxGone("closed before the greeting")
            self._received += chunk
        kind, version = struct.unpack_from(">II", packet)
        if (kind, version) != (_HELLO, VERSION):
            raise MuxGone(f"another language: message {kind}, version {version}")

    def _whole(self) -> Iterator[MuxNote]:
        while (packet := self._packet()) is not None:
            yield _note(packet)

    def _packet(self) -> bytes | None:
        """The next packet that is there as a whole."""
        if len(self._received) < 4:
            return None
        (size,) = struct.unpack_from(">I", self._received)
        if not 4 <= size <= _LARGEST_PACKET:
            raise MuxGone(f"a packet of {size} bytes")
        if len(self._received) < 4 + size:
            return None
        packet, self._received = self._received[4 : 4 + size], self._received[4 + size :]
        return packet


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _note(packet: bytes) -> MuxNote:
    (kind,) = struct.unpack_from(">I", packet)
    if kind == _SESSION_OPENED:
        return MuxNote(kind="opened")
    if kind == _EXIT_MESSAGE and len(packet) >= _EXIT_BYTES:
        return MuxNote(kind="exit", exit_code=struct.unpack_from(">I", packet, 8)[0])
    if kind in (_PERMISSION_DENIED, _FAILURE):
        return MuxNote(kind="refused", reason=packet[_EXIT_BYTES:].decode("utf-8", errors="replace"))
    return MuxNote(kind="other")
