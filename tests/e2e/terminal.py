"""A person at a pseudo-terminal: sees what is written to it and types answers."""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

SHOWN = 3000
END_OF_INPUT = b"\x04"
QUESTION = re.compile(r"(Load|Restart)\?  \[y\] this one  \[a\] all of this run  \[n\] no  \[c\] show commands ")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[()][A-Z0-9]|[=>78])")


class Terminal:
    """A command whose standard input and error are a terminal; its standard output goes to a file."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], out: Path) -> None:
        self._ours, theirs = os.openpty()
        self._out = out
        self._seen = b""
        self._answered = 0
        with out.open("wb") as output:
            self.process = subprocess.Popen(
                argv, cwd=cwd, env=dict(environment), stdin=theirs, stdout=output, stderr=theirs, start_new_session=True
            )
        os.close(theirs)

    @property
    def text(self) -> str:
        """All that was written to the terminal, without what only moves or colours."""
        return _ESCAPES.sub("", self._seen.decode("utf-8", errors="replace")).replace("\r", "")

    def answer(self, words: bytes, *, within_s: float = 90.0) -> str:
        """Wait for the next question and type an answer to it; returns what the question was about: load or restart."""
        deadline = time.monotonic() + within_s
        while len(questions := QUESTION.findall(self.text)) <= self._answered:
            assert self._read(deadline), f"no question came:\n{self.text[-SHOWN:]}"
        self._answered += 1
        os.write(self._ours, words)
        return str(questions[-1]).lower()

    def type(self, words: bytes, *, after: str, within_s: float = 60.0) -> None:
        """Type these words once the terminal shows `after`."""
        deadline = time.monotonic() + within_s
        while after not in self.text:
            assert self._read(deadline), f"{after!r} did not come:\n{self.text[-SHOWN:]}"
        os.write(self._ours, words)

    def read_for(self, seconds: float) -> bytes:
        """What is written in so many seconds."""
        before, deadline = len(self._seen), time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._read(deadline)
        return self._seen[before:]

    def end(self, *, within_s: float = 200.0) -> tuple[int, str]:
        """Wait for the end; the exit code and what went to standard output."""
        deadline = time.monotonic() + within_s
        while self._read(deadline):
            pass
        os.close(self._ours)
        if self.process.poll() is None and time.monotonic() > deadline:
            self.process.kill()
        return self.process.wait(10), self._out.read_text(encoding="utf-8")

    def _read(self, deadline: float) -> bool:
        """Take in what is there, waiting for it; False at the end of the output or of the patience."""
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux reports the end of the other side so
            return False
        self._seen += data
        return bool(data)
