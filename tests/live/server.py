"""A server of the live tests: started in a session of its own, awaited, and proved to be the same again."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class NotUp(Exception):
    """The server of a scenario did not come up; the message ends with the end of its log."""


@dataclass(frozen=True)
class Launch:
    """How a server is started. `env` is added to that of the tests; `ready_s` bounds its start."""

    argv: tuple[str, ...]
    port: int
    env: Mapping[str, str]
    ready_s: float


@dataclass
class RunningServer:
    """A server as a user leaves one behind. `log` is where its output goes."""

    launch: Launch
    log: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, launch: Launch, *, log: Path, cwd: Path) -> RunningServer:
        with log.open("wb") as stream:
            process = subprocess.Popen(
                launch.argv, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
                env={**os.environ, **launch.env}, cwd=cwd, start_new_session=True,
            )  # fmt: skip
        return cls(launch, log, process)

    def await_ready(self, *, longest_s: float) -> None:
        """Until /health answers; raises NotUp with the end of its log where it does not come up."""
        begun = time.monotonic()
        give_up = begun + min(self.launch.ready_s, longest_s)
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.launch.port}/health", timeout=2) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.05)
        said = self.log.read_text(encoding="utf-8", errors="replace")[-400:]
        raise NotUp(f"the server did not come up within {time.monotonic() - begun:.0f} s: {said}")
