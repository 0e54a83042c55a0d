"""What the live tests need of an engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from tests.live.scenarios import Scenario
from tests.live.server import Launch


def cache_folder() -> Path:
    """Where wheels and engines of the live tests are kept."""
    base = os.environ.get("SPECDOCTOR_LIVE_CACHE")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "specdoctor-live"


class LiveEngine(Protocol):
    """An engine that can be installed here and started with a fault planted."""

    @property
    def title(self) -> str: ...

    @property
    def scenarios(self) -> tuple[Scenario, ...]: ...

    def minutes(self, cache: Path, count: int) -> float:
        """What a run of so many scenarios may take, installation included; it is ended after that."""
        ...

    def cost(self, cache: Path) -> str:
        """What else it takes, in disk and memory; nothing is done for it."""
        ...

    def missing(self, cache: Path) -> str:
        """Why it cannot be had here, as far as that can be told without trying; empty if nothing is known."""
        ...

    def prepare(self, cache: Path, models: Path) -> None:
        """Install the engine and write its models. Raises Missing where that cannot be done."""
        ...

    def launch(self, scenario: Scenario, *, port: int) -> Launch: ...
