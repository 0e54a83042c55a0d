"""A command in a real tmux of a given size: keys go in, the screen as a person sees it comes out."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

POLL_S = 0.1


class Tmux:
    """One pane of its own server, gone with `close`. The command's exit code is written to a file when it ends."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        place: Path,
        columns: int = 80,
        rows: int = 24,
        stdout: Path | None = None,
    ) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self._socket, self._code = place / "tmux", place / "code"
        to = f" > {shlex.quote(str(stdout))}" if stdout is not None else ""
        line = f"{shlex.join(argv)}{to}; echo $? > {shlex.quote(str(self._code))}; sleep 600"
        kept = {name: value for name, value in environment.items() if name not in ("TERM", "COLUMNS")}
        size = ["-x", str(columns), "-y", str(rows)]
        self._environment = {**kept, "TERM": "screen", "PATH": kept.get("PATH", os.environ["PATH"])}
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", *size, "-c", str(cwd), "/bin/sh", "-c", line, env=self._environment
        )

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names (`C-c`, `Enter`), or type text as it is."""
        self._tmux("send-keys", *keys)

    def enter(self, line: str) -> None:
        """Type a line and end it."""
        self._tmux("send-keys", "-l", line)
        self._tmux("send-keys", "Enter")

    @property
    def screen(self) -> str:
        """What is on the screen now."""
        return self._tmux("capture-pane", "-p")

    @property
    def coloured(self) -> str:
        """The same with its colours, as escape sequences."""
        return self._tmux("capture-pane", "-p", "-e")

    @property
    def scrolled(self) -> str:
        """Everything that went over the screen."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    def until(self, text: str, *, within_s: float = 90.0, everywhere: bool = False) -> str:
        """The screen once it shows `text` (`everywhere`: or has shown it)."""
        deadline = time.monotonic() + within_s
        while True:
            screen = self.scrolled if everywhere else self.screen
            if text in screen:
                return screen
            assert time.monotonic() < deadline, f"{text!r} did not come:\n{self.scrolled[-6000:]}"
            time.sleep(POLL_S)

    def end(self, *, within_s: float = 200.0) -> int:
        """The exit code, once the command is over."""
        deadline = time.monotonic() + within_s
        while not (self._code.exists() and self._code.read_text().strip()):
            assert time.monotonic() < deadline, f"no end:\n{self.scrolled[-6000:]}"
            time.sleep(POLL_S)
        return int(self._code.read_text())

    def close(self) -> None:
        subprocess.run(["tmux", "-S", str(self._socket), "kill-server"], check=False, capture_output=True)

    def _tmux(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *words],
            check=True,
            capture_output=True,
            text=True,
            env=dict(env or self._environment),
        )
        return done.stdout
