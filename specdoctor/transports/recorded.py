"""A host that answers from a script: for replays of transcripts and for tests without any machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Self

from specdoctor.core.errors import SpecdoctorError
from specdoctor.core.host import CommandResult
from specdoctor.transports.exec_line import checked_argv
from specdoctor.transports.output import Capture, LineFeed

Reply = CommandResult | str | bytes | SpecdoctorError
FileReply = bytes | OSError


class RecordedHost:
    """Scripted replies by argv. What was not scripted fails loudly, with what is known.

    A reply is a CommandResult, or its standard output (str or bytes, exit code 0), or an error to raise. Several
    replies for one argv are given in order; the last one stays. `calls` lists what was asked, `stdins` what was sent.
    """

    def __init__(
        self,
        replies: Mapping[tuple[str, ...], Reply | Sequence[Reply]],
        *,
        files: Mapping[str, FileReply] | None = None,
        name: str = "recorded",
    ) -> None:
        self._replies = {argv: _in_order(reply) for argv, reply in replies.items()}
        self._files = dict(files or {})
        self._name = name
        self.calls: list[tuple[str, ...]] = []
        self.stdins: list[bytes] = []

    @classmethod
    def from_transcript(
        cls, results: Iterable[CommandResult], *, files: Mapping[str, FileReply] | None = None, name: str = "recorded"
    ) -> Self:
        """A host that gives again the results of a recorded run, in their order for each argv."""
        by_argv: dict[tuple[str, ...], list[Reply]] = {}
        for result in results:
            by_argv.setdefault(result.argv, []).append(result)
        return cls(by_argv, files=files, name=name)

    @property
    def name(self) -> str:
        return self._name

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = 30.0,
        max_output_bytes: int = 64 * 1024 * 1024,
        on_line: Callable[[str], None] | None = None,
    ) -> CommandResult:
        """The scripted reply; AssertionError when there is none."""
        words = checked_argv(argv)
        if words not in self._replies:
            raise AssertionError(f"unscripted {words!r}; known: {sorted(self._replies)}")
        self.calls.append(words)
        self.stdins.append(stdin)
        queue = self._replies[words]
        reply = queue.pop(0) if len(queue) > 1 else queue[0]
        if isinstance(reply, SpecdoctorError):
            raise reply
        return _bounded(_as_result(words, reply), max_output_bytes, LineFeed(on_line))

    def read_range(self, path: str, *, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of a scripted file; AssertionError when there is none, or the scripted error."""
        if path not in self._files:
            raise AssertionError(f"unscripted file {path!r}; known: {sorted(self._files)}")
        content = self._files[path]
        if isinstance(content, OSError):
            raise content
        return content[offset : None if length is None else offset + length]

    def close(self) -> None:
        """Nothing to close."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _in_order(reply: Reply | Sequence[Reply]) -> list[Reply]:
    if isinstance(reply, (CommandResult, str, bytes, SpecdoctorError)):
        return [reply]
    return list(reply)


def _as_result(argv: tuple[str, ...], reply: CommandResult | str | bytes) -> CommandResult:
    if isinstance(reply, CommandResult):
        return reply
    return CommandResult(argv=argv, exit_code=0, stdout=reply.encode() if isinstance(reply, str) else reply)


def _bounded(result: CommandResult, max_output_bytes: int, lines: LineFeed) -> CommandResult:
    lines.add(result.stderr)
    lines.end()
    out, err = Capture(max_output_bytes), Capture(max_output_bytes)
    out.add(result.stdout)
    err.add(result.stderr)
    truncated = result.truncated or out.truncated or err.truncated
    return result.model_copy(update={"stdout": out.data, "stderr": err.data, "truncated": truncated})
