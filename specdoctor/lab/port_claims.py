"""Ports that practice hosts of one account have claimed on this computer.

A server that is being restarted leaves its port free for seconds; without a claim, another practice host that starts
in that moment would take it.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

from specdoctor.lab.errors import LabError
from specdoctor.lab.ssh_access import LOOPBACK

RANGE = range(20000, 32000)
"""Outside the range that outgoing connections use."""


class PortClaims:
    """The claims of one host; they end with `release`, or with the process."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.gettempdir()) / f"practice-ports-{os.getuid()}"
        self._held: dict[int, IO[str]] = {}

    def claim(self, port: int) -> bool:
        """Claim a port; False when another practice host has it, or when something listens on it."""
        if port in self._held:
            return True
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._folder / str(port)
        file = path.open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            same = os.fstat(file.fileno()).st_ino == path.stat().st_ino
        except (BlockingIOError, FileNotFoundError):
            same = False
        self._held[port] = file
        if same and is_free(port):
            return True
        self._give_back(port, remove=same)
        return False

    def claim_any(self) -> int:
        """Claim some free port. Raises LabError when there is none."""
        for port in random.SystemRandom().sample(RANGE, 200):
            if self.claim(port):
                return port
        raise LabError(f"no free port between {RANGE.start} and {RANGE.stop} on {LOOPBACK}")

    def release(self) -> None:
        """Give all ports back."""
        for port in list(self._held):
            self._give_back(port, remove=True)

    def _give_back(self, port: int, *, remove: bool) -> None:
        file = self._held.pop(port)
        if remove:
            (self._folder / str(port)).unlink(missing_ok=True)
        file.close()


def is_free(port: int) -> bool:
    """Whether nothing listens on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
