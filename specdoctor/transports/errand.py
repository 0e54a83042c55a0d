"""One command on its way over SSH: what is sent, until when, and what becomes of what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specdoctor.core.host import CommandResult
from specdoctor.transports.exec_line import checked_argv, exec_line, mark_of, new_token, program_name
from specdoctor.transports.reply import Outcome, Reply, not_begun


@dataclass(frozen=True)
class Errand:
    """One command to be carried out: the line that is sent, and where what comes back is gathered."""

    words: tuple[str, ...]
    token: str
    line: str
    stdin: bytes
    timeout_s: float
    reply: Reply

    @classmethod
    def of(
        cls,
        argv: Sequence[str],
        *,
        stdin: bytes,
        timeout_s: float,
        max_output_bytes: int,
        on_line: Callable[[str], None] | None,
    ) -> Errand:
        """The errand of a call to `run`. Raises SpecdoctorError for what no system can run."""
        words, token = checked_argv(argv), new_token()
        line = exec_line(words, timeout_s=timeout_s, token=token)
        reply = Reply(mark_of(token), max_output_bytes=max_output_bytes, on_line=on_line)
        return cls(words, token, line, stdin, timeout_s, reply)

    def result(self, name: str, outcome: Outcome, exit_code: int, *, started: float) -> CommandResult:
        """What `run` gives back. `started` is by the monotonic clock; raises TargetError where it never began."""
        if not outcome.begun:
            raise not_begun(name, program_name(self.words), outcome)
        return CommandResult(
            argv=self.words,
            exit_code=exit_code,
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            duration_s=time.monotonic() - started,
            truncated=outcome.truncated,
        )
