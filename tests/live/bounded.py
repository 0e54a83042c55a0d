"""A command of an installation, ended with all it started once its time is over."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.live.missing import Missing

SAID = 300
"""Characters from the end of what a failed command said."""


def bounded(argv: Sequence[str], *, log: Path, limit_s: float, env: Mapping[str, str] | None = None) -> None:
    """Run it with its output in `log`. Raises Missing with the end of that where it fails, or does not end in time."""
    with log.open("wb") as stream:
        run = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})}, start_new_session=True,
        )  # fmt: skip
    try:
        code: int | None = run.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
    if code != 0:
        why = f"failed ({code})" if code is not None else f"was not done after {limit_s / 60:.0f} min, and was ended"
        said = " / ".join(log.read_text(encoding="utf-8", errors="replace")[-SAID:].splitlines())
        raise Missing(f"{' '.join(argv[-3:])} {why}: {said}; all of it: {log}")
