"""A command of an installation ends with what it started once its time is over, and says so."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.live.bounded import bounded
from tests.live.missing import Missing

WITH_A_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
print(child.pid, flush=True)
child.wait()
"""


def _gone(pid: int) -> bool:
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return told == "Z"


def test_what_fails_is_missing_with_what_it_said(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "import sys; print('no such wheel'); sys.exit(3)"]
    with pytest.raises(Missing, match=r"failed \(3\): no such wheel"):
        bounded(argv, log=tmp_path / "log", limit_s=60.0)
    bounded([sys.executable, "-c", ""], log=tmp_path / "log", limit_s=60.0)


@pytest.mark.slow
def test_what_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(Missing, match="was not done"):
        bounded([sys.executable, "-c", WITH_A_CHILD], log=log, limit_s=10.0)
    pid = int(log.read_text(encoding="ascii"))
    give_up = time.monotonic() + 20.0
    while not _gone(pid) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert _gone(pid)
