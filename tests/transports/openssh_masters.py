"""The ssh client that runs as a master: which process it is, and waiting for its end."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable

from specdoctor.transports.openssh import OpenSshHost
from tests.transports.host_contract import is_running


def after(delay_s: float, action: Callable[[], None]) -> None:
    timer = threading.Timer(delay_s, action)
    timer.daemon = True
    timer.start()


def master_pid(host: OpenSshHost) -> int:
    assert host._master is not None
    path = host._master.path
    done = subprocess.run(
        ["ssh", "-F", "none", "-S", path, "-O", "check", "any"], capture_output=True, text=True, check=True
    )
    return int(done.stderr.partition("pid=")[2].partition(")")[0])


def gone(pid: int, *, within_s: float) -> bool:
    give_up = time.monotonic() + within_s
    while is_running(pid):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.05)
    return True
