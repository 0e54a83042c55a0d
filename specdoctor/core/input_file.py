"""The one opener of files that somebody names on this machine: no device, socket or silent pipe hangs it.

A named pipe is read where it can only be meant once, as a shell's `<(command)` makes them: to its end, with a limit of
silence. Whoever asks names the limit of size.
"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import time
from pathlib import Path
from typing import BinaryIO

from specdoctor.core.errors import UsageError

SILENCE_S = 30.0
"""So long may a pipe give nothing."""
WHOLE_WAIT_S = 300.0
"""So long may a pipe take altogether."""
_NULL = os.makedev(1, 3)
_MOST_SHOWN = 120
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


def is_folder(path: str | Path) -> bool:
    """Whether a folder has this name; what can be no name, or leads nowhere, is none."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: str | Path) -> bool:
    """Whether a regular file has this name; what can be no name, or leads nowhere, is none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_link(path: str | Path) -> bool:
    """Whether a link has this name, wherever it leads; what can be no name is none."""
    try:
        return Path(path).is_symlink()
    except (OSError, ValueError):
        return False


def whole_path(path: str | Path, *, under: Path | None = None) -> Path:
    """The absolute path, `~` and links followed, taken from the folder `under`; a pipe keeps its name.

    Raises UsageError for a link that leads back to itself, for what can be no name, and for `~` of nobody.
    """
    given = (under or Path()) / Path(path)
    try:
        given = (under or Path()) / Path(path).expanduser()
        if given.is_symlink():
            given.stat()
        return given.absolute() if given.is_fifo() else given.resolve()
    except FileNotFoundError:
        return given.absolute()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"{_short(path)}: {why_no_path(error)}", next_step="name another file") from error


def expanded(path: str | Path) -> Path:
    """The path with `~` followed; one of nobody is left as it is, and leads nowhere."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def why_no_path(error: Exception) -> str:
    """Why a name leads to no file, as the end of a sentence."""
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return "it is a link that leads back to itself"
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return "this is longer than a name may be"
    if isinstance(error, RuntimeError):
        return (
            "nobody on this machine has that home" if "home" in str(error) else "it is a link that leads back to itself"
        )
    return (error.strerror or str(error)) if isinstance(error, OSError) else f"this can be no name ({error})"


def refuse_to_write(path: Path, *, option: str) -> None:
    """Before the work whose outcome goes there: what is no place for a file. Raises UsageError."""
    next_step = "name a file that can be written"
    try:
        found = path.stat()
    except FileNotFoundError:
        if not is_folder(path.absolute().parent) or path.is_symlink():
            what = (
                "it is a link that leads nowhere"
                if path.is_symlink()
                else f"there is no folder {path.absolute().parent}"
            )
            raise UsageError(f"{option} {path}: {what}", next_step=f"make it, or {next_step}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{option} {_short(path)}: {why_no_path(error)}", next_step=next_step) from error
    else:
        why = kind_refused(found.st_mode, found.st_rdev) or ("it is a pipe" if stat.S_ISFIFO(found.st_mode) else "")
        if why:
            raise UsageError(f"{option} {path}: {why}", next_step=next_step)


def _short(path: str | Path) -> str:
    """A name as it may stand in a message."""
    text = str(path)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
