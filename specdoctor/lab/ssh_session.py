"""One SSH session as a real process: exec, shell, and both with a terminal.

Follows what OpenSSH's server does: the session ends when the process has ended *and* nothing holds its output any
more; a client that leaves closes the pipes and kills nothing (a terminal's processes get SIGHUP from the kernel).
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import asyncssh

CHUNK_BYTES = 65536
SHELL = "/bin/sh"
END_OF_TRANSMISSION = b"\x04"

_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios\n"
    "os.setsid()\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)


@dataclass(frozen=True)
class SessionPlace:
    """Where and with what surroundings commands run."""

    home: Path
    environment: Mapping[str, str]


@dataclass
class _Plumbing:
    """The running process and our ends of its pipes."""

    process: asyncio.subprocess.Process
    to_child: asyncio.WriteTransport
    from_child: list[tuple[asyncio.StreamReader, asyncio.ReadTransport, asyncssh.SSHWriter[bytes]]]
    terminal: int | None = None

    def close(self) -> None:
        self.to_child.close()
        for _, transport, _ in self.from_child:
            transport.close()


async def serve_session(channel: asyncssh.SSHServerProcess[bytes], place: SessionPlace) -> None:
    """Run the client's command (or a shell) and hand back its output and its end."""
    if channel.subsystem:
        channel.stderr.write(b"subsystem request failed\n")
        channel.exit(1)
        return
    environment = _session_environment(channel, place)
    argv = [SHELL] if channel.command is None else [SHELL, "-c", channel.command]
    if channel.command is None and channel.term_type is not None:
        argv.append("-i")
    start = _start_on_terminal if channel.term_type is not None else _start_on_pipes
    plumbing = await start(channel, argv, environment, place.home)
    feeding = asyncio.create_task(_feed(channel, plumbing))
    leaving = asyncio.create_task(_close_when_client_leaves(channel, plumbing))
    try:
        await asyncio.gather(*(_deliver(reader, writer) for reader, _, writer in plumbing.from_child))
        returncode = await plumbing.process.wait()
        _report_end(channel, returncode)
    finally:
        for task in (feeding, leaving):
            task.cancel()
        await asyncio.gather(feeding, leaving, return_exceptions=True)
        plumbing.close()


def _session_environment(channel: asyncssh.SSHServerProcess[bytes], place: SessionPlace) -> dict[str, str]:
    environment = dict(place.environment)
    for name, value in channel.env.items():
        text = str(name)
        if text == "LANG" or text.startswith("LC_"):
            environment[text] = str(value)
    peer = channel.get_extra_info("peername")
    local = channel.get_extra_info("sockname")
    if peer and local:
        environment["SSH_CONNECTION"] = f"{peer[0]} {peer[1]} {local[0]} {local[1]}"
    if channel.term_type:
        environment["TERM"] = channel.term_type
    return environment


async def _start_on_pipes(
    channel: asyncssh.SSHServerProcess[bytes], argv: list[str], environment: dict[str, str], home: Path
) -> _Plumbing:
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=in_read,
            stdout=out_write,
            stderr=err_write,
            env=environment,
            cwd=home,
            start_new_session=True,
        )
    finally:
        for descriptor in (in_read, out_write, err_write):
            os.close(descriptor)
    return _Plumbing(
        process=process,
        to_child=await _writer(in_write),
        from_child=[
            (*await _reader(out_read), channel.stdout),
            (*await _reader(err_read), channel.stderr),
        ],
    )


async def _start_on_terminal(
    channel: asyncssh.SSHServerProcess[bytes], argv: list[str], environment: dict[str, str], home: Path
) -> _Plumbing:
    master, slave = os.openpty()
    _resize(master, channel.term_size)
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            "-c",
            _TAKE_TERMINAL,
            *argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=home,
        )
    finally:
        os.close(slave)
    writing = await _writer(os.dup(master))
    reader, reading = await _reader(master)
    return _Plumbing(process=process, to_child=writing, from_child=[(reader, reading, channel.stdout)], terminal=master)


async def _reader(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=CHUNK_BYTES)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    return reader, transport


class _PipeProtocol(asyncio.Protocol):
    """Lets a writer wait until the pipe has room again, or is gone."""

    def __init__(self) -> None:
        self.room = asyncio.Event()
        self.room.set()
        self.gone = False

    def pause_writing(self) -> None:
        self.room.clear()

    def resume_writing(self) -> None:
        self.room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        self.room.set()


async def _writer(descriptor: int) -> asyncio.WriteTransport:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_write_pipe(_PipeProtocol, os.fdopen(descriptor, "wb", buffering=0))
    return transport


async def _feed(channel: asyncssh.SSHServerProcess[bytes], plumbing: _Plumbing) -> None:
    """Client's input to the process until end of file; signals and window changes arrive in the same stream."""
    protocol = plumbing.to_child.get_protocol()
    assert isinstance(protocol, _PipeProtocol)
    while not protocol.gone:
        try:
            data = await channel.stdin.read(CHUNK_BYTES)
        except asyncssh.TerminalSizeChanged as change:
            if plumbing.terminal is not None:
                _resize(plumbing.terminal, change.term_size)
            continue
        except asyncssh.BreakReceived:
            continue
        except asyncssh.SignalReceived as received:
            _signal_group(plumbing.process.pid, received.signal)
            continue
        except (asyncssh.Error, OSError):
            break
        if not data:
            break
        plumbing.to_child.write(data)
        await protocol.room.wait()
    if plumbing.terminal is None:
        plumbing.to_child.close()
    else:
        plumbing.to_child.write(END_OF_TRANSMISSION)


async def _deliver(reader: asyncio.StreamReader, writer: asyncssh.SSHWriter[bytes]) -> None:
    """Output of the process to the client; a hung-up terminal and a client that left are both the end."""
    with contextlib.suppress(OSError, asyncssh.Error):
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()


async def _close_when_client_leaves(channel: asyncssh.SSHServerProcess[bytes], plumbing: _Plumbing) -> None:
    await channel.wait_closed()
    plumbing.close()


def _report_end(channel: asyncssh.SSHServerProcess[bytes], returncode: int) -> None:
    with contextlib.suppress(OSError, asyncssh.Error):
        if returncode < 0:
            channel.exit_with_signal(signal.Signals(-returncode).name.removeprefix("SIG"))
        else:
            channel.exit(returncode)


def _signal_group(pid: int, name: str) -> None:
    number = getattr(signal, f"SIG{name}", None)
    if number is not None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)


def _resize(terminal: int, size: tuple[int, int, int, int]) -> None:
    columns, rows, width, height = size
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, width, height))
