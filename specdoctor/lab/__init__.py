"""The practice lab: worlds with known faults, and a host on loopback that lives them.

Importing it is cheap; the small programs of the host do so at every start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from specdoctor.lab.world import World


def open_world(name_or_path: str | Path) -> World:
    """A built-in world by name, or a world file by path. Raises WorldError listing every fault of the file."""
    from specdoctor.lab.world import World

    return World.from_yaml(name_or_path)


def list_worlds() -> tuple[str, ...]:
    """Names of the built-in worlds, sorted."""
    from specdoctor.lab.world import builtin_worlds

    return builtin_worlds()


def schema() -> Mapping[str, Any]:
    """JSON schema of the world format."""
    from specdoctor.lab.world import json_schema

    return json_schema()
