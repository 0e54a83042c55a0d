"""A container on a host, over whatever way leads to the host: commands run inside by `exec` of the container's tool."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Self

from specdoctor.core.errors import CommandTimeout, ConnectionLost, SpecdoctorError
from specdoctor.core.host import CommandResult, Host
from specdoctor.core.via import Via
from specdoctor.transports.endings import timed_out
from specdoctor.transports.exec_line import (
    HOST_KILL_AFTER_S,
    HOST_LIMIT_MARGIN_S,
    checked_argv,
    mark_of,
    new_token,
    program_name,
)
from specdoctor.transports.output import Capture
from specdoctor.transports.ssh_read import read_by_command
from specdoctor.transports.via_failure import no_way_in

END_GRACE_S = HOST_LIMIT_MARGIN_S + HOST_KILL_AFTER_S + 1.0
"""How much longer than the command itself its tool may take: the container ends the command before."""

_STOP_TIMEOUT_S = 15.0
_TIMED_OUT = 124
_BY_SIGNAL = 128
_MARKS_BYTES = 8192
"""Room in the captured output for the marks, and for what the tool says before the command begins."""

# Both streams begin with a mark; the one on standard error tells the process that the command runs under. The limit is
# that of the transport over SSH: where `timeout` knows -k and fractions, the container ends the command by itself.
_OUTER = (
    'echo "$1$2"; echo "$1$2 $$" >&2; limit=$3 run=$4 token=$2; shift 4; '
    f"timeout -k {HOST_KILL_AFTER_S} 9.5 true 2>/dev/null && "
    f'exec timeout -k {HOST_KILL_AFTER_S} "$limit" sh -c "$run" "$token" "$@"; exec sh -c "$run" "$token" "$@"'
)
# The exit code is told in the output, since the tools use some codes for failures of their own.
_RUN = 'trap : TERM; "$@"; code=$?; echo "sd-ended-$0 $code" >&2; exit $code'
_STOP = (
    'grep -q "$1" "/proc/$2/cmdline" 2>/dev/null || exit 0; kill -TERM "-$2"; n=0; '
    'while kill -0 "-$2" 2>/dev/null && [ $n -lt 5 ]; do n=$((n + 1)); sleep 0.2 2>/dev/null || sleep 1; done; '
    'kill -KILL "-$2" 2>/dev/null; sleep 0.1 2>/dev/null; ! kill -0 "-$2" 2>/dev/null'
)


def exec_argv(via: Via, command: Sequence[str]) -> tuple[str, ...]:
    """What runs `command` inside the container, with standard input passed on."""
    if via.kind == "kubectl":
        chosen = ("-c", via.container) if via.container else ()
        return ("kubectl", "-n", via.namespace, "exec", "-i", via.name, *chosen, "--", *command)
    return (via.kind, "exec", "-i", via.name, *command)


class ViaHost:
    """The inside of a container; implements `specdoctor.core.host.Host` over the host that runs it.

    The container needs a POSIX `sh`. Commands run as the user and in the directory that the container's tool chooses.
    """

    def __init__(self, host: Host, via: Via) -> None:
        self._host = host
        self._via = via

    @property
    def name(self) -> str:
        return f"{self._via} on {self._host.name}"

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = 30.0,
        max_output_bytes: int = 64 * 1024 * 1024,
        on_line: Callable[[str], None] | None = None,
    ) -> CommandResult:
        """Run `argv` inside and wait for it; see `specdoctor.core.host.Host`.

        Raises TargetError when the container cannot be entered, with what is missing, and what the host's `run` raises.
        """
        words, token = checked_argv(argv), new_token()
        ears = _Ears(token, on_line)
        limit_s = f"{timeout_s + HOST_LIMIT_MARGIN_S:.1f}"
        prefix = mark_of("")
        inside = exec_argv(self._via, ("sh", "-c", _OUTER, "sh", prefix, token, limit_s, _RUN, *words))
        started = time.monotonic()
        result = self._entered(inside, ears, words, stdin, timeout_s, max_output_bytes)
        took_s = time.monotonic() - started
        if not ears.begun:
            raise no_way_in(self._via, self._host.name, result)
        if took_s > timeout_s and _ended_by_limit(result.exit_code, ears.exit_code):
            raise timed_out(self.name, words, timeout_s, ended=True)
        if ears.exit_code is None:
            raise ConnectionLost(
                f"{self.name}: exec of {program_name(words)} ended (exit {result.exit_code}) before the command told "
                "how it ended; whether it did is unknown",
                tried="wait for its exit status",
                next_step="The container was stopped, or its tool lost it; look at it before doing it again.",
            )
        return _without_marks(words, result, ears, max_output_bytes, took_s)

    def read_range(self, path: str, *, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of a file inside the container, at most 64 MiB, with its own tools.

        Raises FileNotFoundError, PermissionError or IsADirectoryError with the path, and what `run` raises.
        """
        return read_by_command(self, path, offset=offset, length=length)

    def close(self) -> None:
        """Close the way to the host."""
        self._host.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _entered(
        self,
        inside: tuple[str, ...],
        ears: _Ears,
        words: tuple[str, ...],
        stdin: bytes,
        timeout_s: float,
        max_output_bytes: int,
    ) -> CommandResult:
        """What the tool on the host came to; whatever else ends the wait, the command inside is stopped."""
        settled = False
        try:
            result = self._host.run(
                inside,
                stdin=stdin,
                timeout_s=timeout_s + END_GRACE_S,
                max_output_bytes=max_output_bytes + _MARKS_BYTES,
                on_line=ears.hear,
            )
            settled = True
            return result
        except CommandTimeout as error:
            settled = True
            raise timed_out(self.name, words, timeout_s, ended=self._stop(ears)) from error
        except SpecdoctorError:
            settled = True
            raise
        finally:
            if not settled:
                self._stop(ears)

    def _stop(self, ears: _Ears) -> bool:
        """End what runs inside, which ending the tool outside does not; True if it is seen to be gone."""
        if ears.pid is None:
            return False
        stop = ("sh", "-c", _STOP, "sh", ears.token, str(ears.pid))
        try:
            return self._host.run(exec_argv(self._via, stop), timeout_s=_STOP_TIMEOUT_S).exit_code == 0
        except SpecdoctorError:
            return False


class _Ears:
    """Hears the marks in the lines of standard error, and hands on the lines between them."""

    def __init__(self, token: str, on_line: Callable[[str], None] | None) -> None:
        self.token = token
        self.first = mark_of(token)
        self.last = f"sd-ended-{token} "
        self._on_line = on_line
        self.begun = False
        self.pid: int | None = None
        self.exit_code: int | None = None

    def hear(self, line: str) -> None:
        if self.exit_code is not None:
            return
        if not self.begun:
            _, found, rest = line.partition(self.first)
            self.begun = bool(found)
            self.pid = int(rest) if rest.strip().isdigit() else None
            return
        text, found, code = line.partition(self.last)
        if found and code.strip().isdigit():
            self.exit_code = int(code)
        if self._on_line is not None and (text or not found):
            self._on_line(text if found else line)


def _ended_by_limit(of_tool: int, of_command: int | None) -> bool:
    """Whether the container's own limit ended the command: `timeout` says 124, or nothing is left to say anything."""
    return of_command is None or (of_tool == _TIMED_OUT and of_command != _TIMED_OUT) or of_command > _BY_SIGNAL


def _without_marks(
    words: tuple[str, ...], result: CommandResult, ears: _Ears, max_output_bytes: int, took_s: float
) -> CommandResult:
    out, err = Capture(max_output_bytes), Capture(max_output_bytes)
    out.add(_after(result.stdout, ears.first))
    text, found, _ = _after(result.stderr, ears.first).rpartition(ears.last.encode())
    err.add(text if found else _after(result.stderr, ears.first))
    return CommandResult(
        argv=words,
        exit_code=ears.exit_code or 0,
        stdout=out.data,
        stderr=err.data,
        duration_s=took_s,
        truncated=out.truncated or err.truncated,
    )


def _after(data: bytes, mark: str) -> bytes:
    """What follows the line with the mark."""
    return data.partition(mark.encode())[2].partition(b"\n")[2]
