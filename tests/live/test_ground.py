"""An investigation that takes too long is interrupted, so that it puts its server back itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.live import ground

INTERRUPTED = """
import time
try:
    print('begun', flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    pass
"""


@pytest.mark.slow
def test_it_is_interrupted_and_waited_for() -> None:
    argv = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        ground.put_back(run)
    assert run.returncode == 0
