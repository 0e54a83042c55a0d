"""Standard error while a session has the terminal: whole lines go above its list."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast


class _Aside:
    """A text stream that hands on whole lines; everything else is asked of the stream it stands for."""

    def __init__(self, stream: TextIO, tell: Callable[[str], None]) -> None:
        self._stream = stream
        self._tell = tell
        self._held = ""

    def write(self, text: str) -> int:
        *whole, self._held = (self._held + text).split("\n")
        for line in whole:
            self._tell(line)
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back but an unfinished line."""

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def standard_error_aside(tell: Callable[[str], None]) -> Iterator[None]:
    """Inside, what is written to standard error is told above the list."""
    before = sys.stderr
    sys.stderr = cast(TextIO, _Aside(before, tell))
    try:
        yield
    finally:
        sys.stderr = before
