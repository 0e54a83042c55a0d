"""Parts of remote files: over SFTP, or with the host's own tools where there is none."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

from specdoctor.core.errors import TargetError
from specdoctor.core.host import Host

MAX_READ_BYTES = 64 * 1024 * 1024
REQUESTS_AHEAD = 64
_COMMAND_TIMEOUT_S = 120.0
_MESSAGE_BYTES = 4096

_MISSING, _FORBIDDEN, _DIRECTORY, _NO_TOOL = 44, 45, 46, 47
_ERRNO = {_MISSING: errno.ENOENT, _FORBIDDEN: errno.EACCES, _DIRECTORY: errno.EISDIR}

# A redirection instead of an argument: no path can be read as an option, and tail can seek in a regular file.
_SCRIPT = (
    f'for tool in tail head; do command -v $tool >/dev/null || {{ echo "no $tool" >&2; exit {_NO_TOOL}; }}; done; '
    f'[ -d "$1" ] && exit {_DIRECTORY}; [ -e "$1" ] || exit {_MISSING}; [ -r "$1" ] || exit {_FORBIDDEN}; '
    'tail -c "+$2" < "$1" | head -c "$3"'
)


class SftpFailed(Exception):
    """The file-transfer service could not answer; another way may."""


def bounded_length(length: int | None) -> int:
    """How many bytes may be read at once."""
    return MAX_READ_BYTES if length is None else min(length, MAX_READ_BYTES)


def read_by_sftp(client: Any, path: str, *, offset: int, length: int | None) -> bytes:
    """Read with paramiko's SFTP client.

    Raises FileNotFoundError, PermissionError, IsADirectoryError with the path; TimeoutError; SftpFailed.
    """
    wanted = bounded_length(length)
    try:
        with client.open(os.fsencode(path), "rb") as file:
            attributes = file.stat()
            if attributes.st_mode is not None and stat.S_ISDIR(attributes.st_mode):
                raise _os_error(errno.EISDIR, path)
            file.seek(offset)
            size = attributes.st_size or 0
            if size > offset:
                file.prefetch(min(size, offset + wanted), REQUESTS_AHEAD)
            # Files of /proc have size 0, and others may have grown: what is there is read, whatever the size said.
            return bytes(file.read(wanted))
    except TimeoutError:
        raise
    except OSError as error:
        if error.errno is not None and error.errno in _ERRNO.values():
            raise _os_error(error.errno, path) from error
        raise SftpFailed(str(error)) from error
    except EOFError as error:
        raise SftpFailed("the service ended") from error


def read_by_command(host: Host, path: str, *, offset: int, length: int | None) -> bytes:
    """Read with `tail` and `head` on the host; raises as `read_by_sftp` does, or TargetError."""
    wanted = bounded_length(length)
    result = host.run(
        ("sh", "-c", _SCRIPT, "sh", path, str(offset + 1), str(wanted)),
        timeout_s=_COMMAND_TIMEOUT_S,
        max_output_bytes=max(wanted, _MESSAGE_BYTES),
    )
    if result.exit_code in _ERRNO:
        raise _os_error(_ERRNO[result.exit_code], path)
    if result.exit_code == _NO_TOOL:
        raise TargetError(
            f"{host.name}: {path} cannot be read: the host has {result.error_text.strip()}",
            tried="SFTP, where there is such a service, then tail and head on the host",
            next_step="Install it there (coreutils or busybox).",
        )
    if result.exit_code != 0:
        raise TargetError(
            f"{host.name}: {path} could not be read (exit {result.exit_code}: {result.error_text.strip()})",
            tried="SFTP, then tail and head on the host",
            next_step="Check the path and that the host has tail and head.",
        )
    return result.stdout


def _os_error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
