"""What a transport keeps of a running command's output: bounded bytes, and lines as they complete."""

from __future__ import annotations

from collections.abc import Callable

LINE_BOUND_BYTES = 1024 * 1024
"""A line longer than this is handed on in pieces, so that a stream without newlines cannot fill the memory."""


class Capture:
    """The first `max_bytes` of a stream; the rest is counted as cut, not kept."""

    def __init__(self, max_bytes: int) -> None:
        self._room = max_bytes
        self._chunks: list[bytes] = []
        self.truncated = False

    def add(self, chunk: bytes) -> None:
        kept = chunk[: self._room]
        if len(kept) < len(chunk):
            self.truncated = True
        if kept:
            self._chunks.append(kept)
            self._room -= len(kept)

    @property
    def data(self) -> bytes:
        return b"".join(self._chunks)


class LineFeed:
    """Hands each complete line to `on_line` as text, without its line ending; `end` hands on an unfinished last one."""

    def __init__(self, on_line: Callable[[str], None] | None) -> None:
        self._on_line = on_line
        self._rest = b""

    def add(self, chunk: bytes) -> None:
        if self._on_line is None:
            return
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._tell(line)
        if len(self._rest) > LINE_BOUND_BYTES:
            self.end()

    def end(self) -> None:
        if self._on_line is not None and self._rest:
            rest, self._rest = self._rest, b""
            self._tell(rest)

    def _tell(self, line: bytes) -> None:
        if self._on_line is not None:
            self._on_line(line.removesuffix(b"\r").decode("utf-8", errors="replace"))
