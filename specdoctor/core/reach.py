"""How a host is reached, as far as the user chooses it."""

from __future__ import annotations

from typing import Literal

SshTransport = Literal["auto", "openssh", "paramiko"]
"""Who speaks SSH: the system's client, paramiko inside this process, or whichever the configuration needs."""


def spoken(target: str) -> str:
    """A target before a colon: `local:` brings one of its own."""
    return target.removesuffix(":")
