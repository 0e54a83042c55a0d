"""Who may command a keeper on the practice host: the login, or root alone through sudo."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

ROOT_VARIABLE = "LAB_ROOT"
"""Set by the host's `sudo` for the command that it runs."""


def is_root() -> bool:
    return os.environ.get(ROOT_VARIABLE) == "1"


def refused_without_root(world: Mapping[str, Any], tool: str) -> str:
    """What the tool says when this login may not use it; "" when it may."""
    keeper = world["keeper"]
    if is_root() or keeper["kind"] != tool or keeper.get("access", "login") == "login":
        return ""
    return (
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: "
        'Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.50/containers/json": dial unix /var/run/docker.sock: '
        "connect: permission denied\n"
    )
