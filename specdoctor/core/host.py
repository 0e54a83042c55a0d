"""The one small door to a machine: run a command, get a value back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from specdoctor.core.model import Frozen


class CommandResult(Frozen):
    """What came back from one remote command. A non-zero exit is a value, not an error."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    duration_s: float = 0.0
    truncated: bool = False

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", errors="replace")

    @property
    def error_text(self) -> str:
        return self.stderr.decode("utf-8", errors="replace")


class Host(Protocol):
    """A machine reached over some transport (SSH, local, recorded).

    Promises, checked by one contract suite over every implementation: each element of `argv` arrives as exactly one
    argument whatever it contains; `stdin` bytes arrive unchanged; output beyond `max_output_bytes` is cut and marked;
    a command that outlives `timeout_s` raises CommandTimeout; a broken link raises ConnectionLost.
    """

    @property
    def name(self) -> str: ...

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = 30.0,
        max_output_bytes: int = 64 * 1024 * 1024,
        on_line: Callable[[str], None] | None = None,
    ) -> CommandResult:
        """Run `argv` and wait for it. `on_line` is called for each complete line of standard error as it arrives."""
        ...

    def read_range(self, path: str, *, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes `offset .. offset+length` of a remote file (length None: to the end, within the output bound).

        Raises FileNotFoundError or PermissionError with the remote path.
        """
        ...

    def close(self) -> None: ...
