"""Work that goes on by itself: nothing that happens to whoever gave it may end it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.remote.workplace import wait_for

GIVER = """
import os, sys, time
from specdoctor.remote.parts.detached import detached
def work(ready):
    open(sys.argv[1], "w").close()
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.02)
    ready()
    open(sys.argv[3], "w").close()
detached(work)
"""


def test_a_giver_that_is_killed_before_it_hears_does_not_end_the_work(tmp_path: Path) -> None:
    begun, heard, ended = (tmp_path / name for name in ("begun", "go", "ended"))
    giver = subprocess.Popen([sys.executable, "-c", GIVER, str(begun), str(heard), str(ended)], start_new_session=True)
    wait_for(begun.exists)
    os.killpg(giver.pid, signal.SIGKILL)
    giver.wait()
    heard.touch()
    wait_for(ended.exists)
