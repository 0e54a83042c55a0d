"""One understood command line of docker or podman on one practice host."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from specdoctor.lab.containers import find_container
from specdoctor.lab.keeper import Record
from specdoctor.lab.shims.docker_create import DaemonRefused
from specdoctor.lab.shims.docker_options import Given

VERSION = "28.2.2"
POLL_S = 0.05


class Call:
    """One understood command line on one host."""

    def __init__(self, state: Path, tool: str, given: Given) -> None:
        self.state = state
        self.tool = tool
        self.given = given

    def find(self, word: str) -> Record:
        """The container of this name. Raises DaemonRefused."""
        found = find_container(self.state, self.tool, word)
        if found is None:
            raise DaemonRefused(f"No such container: {word}")
        return found

    def each(self, act: Callable[[Record], None]) -> int:
        """Do it to every named container and print its name; those that fail are reported, the others done."""
        code = 0
        for word in self.given.arguments:
            try:
                act(self.find(word))
                print(word, flush=True)
            except DaemonRefused as refused:
                sys.stderr.write(f"Error response from daemon: {refused}\n")
                code = 1
        return code
