"""World facts about who keeps the server alive: one kind each, with the physical facts that this kind shows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from specdoctor.core.model import Frozen

Access = Literal["login", "root"]
"""Who may command a keeper: the login itself, or root alone (through sudo, where the host has it)."""


class PlainKeeper(Frozen):
    """Nobody: started from a shell. `wrappers` stand before the server's own words (numactl, taskset, env)."""

    kind: Literal["plain"] = "plain"
    wrappers: tuple[str, ...] = ()


class Mount(Frozen):
    """A folder of the host inside a container."""

    source: str
    target: str
    read_only: bool = False


class ContainerKeeper(Frozen):
    """A container of docker or podman. `restart_policy` as it is typed: no, always, unless-stopped, on-failure[:N]."""

    kind: Literal["docker", "podman"]
    name: str
    image: str
    restart_policy: str = Field(default="no", pattern=r"^(no|always|unless-stopped|on-failure(:\d+)?)$")
    auto_remove: bool = False
    entrypoint: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    gpus: str = "all"
    ipc: str = "host"
    network: str = "host"
    shm_size_gb: float = 32.0
    ulimits: dict[str, str] = Field(default_factory=dict)
    cap_add: tuple[str, ...] = ()
    image_env: dict[str, str] = Field(default_factory=dict)
    start_s: float = 2.0
    access: Access = "login"


class SystemdKeeper(Frozen):
    """A unit of the system's service manager or of the user's. `lines` are further lines of its [Service] part."""

    kind: Literal["systemd"]
    unit: str = "sglang.service"
    scope: Literal["system", "user"] = "system"
    restart: Literal["no", "always", "on-failure", "on-abnormal", "on-abort", "on-success", "on-watchdog"] = "always"
    restart_s: float = 5.0
    output: str = "journal"
    """What the unit says of its output: `journal`, or `append:{log}`."""
    lines: tuple[str, ...] = ()
    access: Access = "login"


Keeper = Annotated[PlainKeeper | ContainerKeeper | SystemdKeeper, Field(discriminator="kind")]
