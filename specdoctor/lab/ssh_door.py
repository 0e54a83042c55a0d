"""What can be reached over SSH on loopback between its start and its stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from specdoctor.lab.errors import LabError
from specdoctor.lab.ssh_service import SshService


class SshDoor(ABC):
    """A host of the lab; `name` is what messages call it. Its files lie in `state_dir`, the way in among them."""

    name: str
    state_dir: Path
    _service: SshService | None = None

    @abstractmethod
    def start(self) -> Self:
        """Open the port. Raises LabError."""

    @abstractmethod
    def stop(self) -> None:
        """Close the port and leave nothing behind."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The SSH port. Raises LabError before `start`."""
        if self._service is None:
            raise LabError(f"the {self.name} is not running")
        return self._service.port
