"""The one opener of files that somebody names on this machine: no device, socket or silent pipe hangs it.

A named pipe is read where it can only be meant once, as a shell's `<(command)` makes them: to its end, with a limit of
silence. Whoever asks names the limit of size.
"""

from __future__ import annotations

import io
import os
import select
import stat
import time
from pathlib import Path
from typing import BinaryIO

SILENCE_S = 30.0
"""So long may a pipe give nothing."""
WHOLE_WAIT_S = 300.0
"""So long may a pipe take altogether."""
_NULL = os.makedev(1, 3)
_KINDS = (
    (stat.S_ISDIR, "a folder, not a file"),
    (stat.S_ISSOCK, "a socket, not a file"),
    (stat.S_ISBLK, "a device, not a file"),
    (stat.S_ISCHR, "a device or terminal, not a file"),
)


class InputRefused(OSError):
    """What is there can not be read as an input; `strerror` says why, as the end of a sentence."""

    def __init__(self, path: str | Path, why: str) -> None:
        super().__init__(0, why, str(path))


def kind_refused(mode: int, device: int = 0) -> str:
    """Why what has this mode is no input, in words; "" for a regular file, a pipe, and the empty device /dev/null."""
    if stat.S_ISCHR(mode) and device == _NULL:
        return ""
    return next((f"it is {words}" for is_it, words in _KINDS if is_it(mode)), "")


def open_input(path: str | Path, *, pipes: bool = True, silence_s: float = SILENCE_S) -> BinaryIO:
    """A file open for reading. Raises InputRefused for what is none, and OSError as `open` does.

    `pipes`: whether a named pipe will do; it does not where the file is read more than once.
    """
    found = Path(path).stat()
    _judge(path, found, pipes=pipes)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)  # what was opened, whatever has taken the name since
        _judge(path, found, pipes=pipes)
    except InputRefused:
        os.close(handle)
        raise
    if stat.S_ISFIFO(found.st_mode):
        return io.BufferedReader(_Pipe(handle, path, silence_s), 1 << 16)
    return os.fdopen(handle, "rb")


def read_input(path: str | Path, *, limit: int, pipes: bool = True, silence_s: float = SILENCE_S) -> bytes:
    """All bytes of a file. Raises InputRefused for what is no file or longer than `limit` bytes, OSError as `open`."""
    with open_input(path, pipes=pipes, silence_s=silence_s) as file:
        if not isinstance(file.raw, _Pipe) and os.fstat(file.fileno()).st_size > limit:  # type: ignore[attr-defined]
            raise _too_long(path, limit)
        content = file.read(limit + 1) or b""
    if len(content) > limit:
        raise _too_long(path, limit)
    return content


def _too_long(path: str | Path, limit: int) -> InputRefused:
    size = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit} bytes"
    return InputRefused(path, f"it is larger than {size}, which nothing of its kind is")


def _judge(path: str | Path, found: os.stat_result, *, pipes: bool) -> None:
    why = kind_refused(found.st_mode, found.st_rdev)
    if not why and stat.S_ISFIFO(found.st_mode) and not pipes:
        why = "it is a pipe, which can be read only once, and this file is read again later: save it into a file"
    if why:
        raise InputRefused(path, why)


class _Pipe(io.RawIOBase):
    """A pipe that is waited for, but not for ever."""

    def __init__(self, handle: int, path: str | Path, silence_s: float) -> None:
        self._handle = handle
        self._path = path
        self._silence_s = silence_s
        self._end = time.monotonic() + WHOLE_WAIT_S
        self._poll = select.poll()
        self._poll.register(handle, select.POLLIN)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._handle

    def close(self) -> None:
        if not self.closed:
            os.close(self._handle)
        super().close()

    def readinto(self, buffer: object) -> int:
        """The next bytes. Raises InputRefused where nothing comes for too long, or no end."""
        room = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        while True:
            left = self._end - time.monotonic()
            if left <= 0:
                raise self._refused(f"it did not end within {WHOLE_WAIT_S:g} s")
            if not self._poll.poll(1000 * min(self._silence_s, left)):
                raise self._refused(f"nothing was written to it for {min(self._silence_s, left):g} s")
            try:
                found = os.read(self._handle, len(room))
            except BlockingIOError:
                continue
            room[: len(found)] = found
            return len(found)

    def _refused(self, why: str) -> InputRefused:
        return InputRefused(self._path, f"it is a pipe, and {why}: save what it should give into a file, and name that")


def is_there(path: str | Path) -> bool:
    """Whether there is anything of this name, whatever it is; what can be no name is nothing."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False
