"""What comes back from a command that was sent as one line: the noise before it apart, its output bounded."""

from __future__ import annotations

from collections.abc import Callable

from specdoctor.core.errors import TargetError
from specdoctor.core.model import Frozen
from specdoctor.transports.output import Capture, LineFeed

NOISE_BOUND_BYTES = 4096
"""Of what login scripts print before the command begins, so much is kept to be quoted."""

_SHOWN_LINES = 3


class Outcome(Frozen):
    """How a command ended. `exit_code` is None when its session closed without an exit status.

    `begun` is False when the host never came to run what was sent; `noise` is what it said instead, or before.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool
    begun: bool
    noise: str = ""


class Overdue(Exception):
    """The deadline passed. `ended` says whether the command was seen to end after it was asked to stop."""

    def __init__(self, *, ended: bool) -> None:
        super().__init__("deadline passed")
        self.ended = ended


class RequestFailed(Exception):
    """The request to run a command was refused, or the link broke before it was answered."""


class AfterMark:
    """Passes on what follows the line that starts with `mark`; keeps the end of what came before it."""

    def __init__(self, mark: bytes, sink: Callable[[bytes], None]) -> None:
        self._mark = mark
        self._sink = sink
        self._held = b""
        self.seen = False
        self.rest_of_line = b""

    def add(self, chunk: bytes) -> None:
        if self.seen:
            self._sink(chunk)
            return
        self._held += chunk
        at = self._held.find(self._mark)
        end = self._held.find(b"\n", at)
        if at < 0 or end < 0:
            kept = NOISE_BOUND_BYTES + (len(self._mark) if at < 0 else len(self._held) - at)
            self._held = self._held[-kept:]
            return
        self.seen = True
        self.rest_of_line = self._held[at + len(self._mark) : end]
        self._held, output = self._held[:at], self._held[end + 1 :]
        if output:
            self._sink(output)

    @property
    def noise(self) -> bytes:
        """The end of what came before the mark, or of everything while there is no mark."""
        return self._held[-NOISE_BOUND_BYTES:]


class Reply:
    """Both output streams of one command sent by `exec_line`, taken in as they come."""

    def __init__(self, mark: str, *, max_output_bytes: int, on_line: Callable[[str], None] | None) -> None:
        self._out = Capture(max_output_bytes)
        self._err = Capture(max_output_bytes)
        self._lines = LineFeed(on_line)
        self._before_out = AfterMark(mark.encode("ascii"), self._out.add)
        self._before_err = AfterMark(mark.encode("ascii"), self._take_error)

    def out(self, chunk: bytes) -> None:
        self._before_out.add(chunk)

    def err(self, chunk: bytes) -> None:
        self._before_err.add(chunk)

    def end(self) -> None:
        """No more will come: hand on a last line without an end."""
        self._lines.end()

    def _take_error(self, chunk: bytes) -> None:
        self._err.add(chunk)
        self._lines.add(chunk)

    @property
    def begun(self) -> bool:
        return self._before_out.seen or self._before_err.seen

    @property
    def pid(self) -> int | None:
        """The process that the command runs under on the host, once it is known."""
        word = self._before_err.rest_of_line.strip()
        return int(word) if word.isdigit() else None

    def outcome(self, exit_code: int | None) -> Outcome:
        noise = b"\n".join(part for part in (self._before_err.noise, self._before_out.noise) if part.strip())
        return Outcome(
            exit_code=exit_code,
            stdout=self._out.data,
            stderr=self._err.data,
            truncated=self._out.truncated or self._err.truncated,
            begun=self.begun,
            noise=noise.decode("utf-8", errors="replace").strip(),
        )


def not_begun(name: str, program: str, outcome: Outcome) -> TargetError:
    """The host ended a session without running what was sent: a forced command, or a login shell that runs nothing."""
    said = " | ".join(line.strip() for line in outcome.noise.splitlines()[-_SHOWN_LINES:]) or "nothing"
    return TargetError(
        f"{name}: the host did not run {program} but something else (exit {outcome.exit_code}); it said: {said}",
        tried="a command line for the account's login shell",
        next_step="Let the account run commands: a login shell other than nologin, POSIX `sh` on its PATH, and a\n"
        'forced command (command="..." in authorized_keys, ForceCommand) that runs $SSH_ORIGINAL_COMMAND.',
    )
