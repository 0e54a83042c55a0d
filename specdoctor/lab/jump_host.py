"""A jump host before a practice host: a door and nothing behind it but the way on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Self

import asyncssh

from specdoctor.lab.host import PracticeHost
from specdoctor.lab.ssh_access import create_access, write_client_files
from specdoctor.lab.ssh_door import SshDoor
from specdoctor.lab.ssh_service import SshService


class JumpHost(SshDoor):
    """An SSH server that forwards and nothing else, to practise the way through a bastion."""

    name = "jump host"

    def __init__(
        self, *, state_dir: Path, user: str = "jump", port: int = 0, client_key: asyncssh.SSHKey | None = None
    ) -> None:
        self.state_dir = Path(state_dir).resolve()
        self.user = user
        self._wanted_port = port
        self._given_key = client_key

    def start(self) -> Self:
        """Open the port. Raises LabError when it is taken."""
        access = create_access(self.state_dir, client_key=self._given_key)
        self._service = SshService(access, user=self.user, port=self._wanted_port)
        write_client_files(access, alias="jump", user=self.user, port=self._service.start())
        return self

    def stop(self) -> None:
        """Close the port and remove the keys."""
        if self._service is not None:
            self._service.stop()
            self._service = None
            shutil.rmtree(self.state_dir)

    @property
    def ssh_config(self) -> Path:
        return self.state_dir / "ssh_config"


def write_jump_config(path: Path, host: PracticeHost, jump: JumpHost) -> None:
    """An ssh_config with `jump`, and `lab` behind it."""
    block = host.ssh_config.read_text(encoding="utf-8")
    path.write_text(jump.ssh_config.read_text(encoding="utf-8") + block + "  ProxyJump jump\n", encoding="utf-8")
