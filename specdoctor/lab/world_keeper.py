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


class OtherImage(Frozen):
    """A further image on the host: the engine in it, and factors on the times of a server that runs from it."""

    image: str
    version: str
    env: dict[str, str] = Field(default_factory=dict)
    host_factor: float = 1.0
    gpu_factor: float = 1.0


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
    other_images: tuple[OtherImage, ...] = ()
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


class SlurmKeeper(Frozen):
    """A batch job. `partition` and `nodes` as `squeue` shows them."""

    kind: Literal["slurm"]
    job_id: int = 48213
    job_name: str = "sglang"
    partition: str = "gpu"
    nodes: tuple[str, ...] = ()
    """Names of its nodes; empty: this host alone."""
    account: str = "ml"
    gres: str = "gpu:8"
    time_limit: str = "2-00:00:00"


class KubernetesKeeper(Frozen):
    """A pod and the chain of its owners: ReplicaSet and Deployment, a StatefulSet, or nobody."""

    kind: Literal["kubernetes"]
    namespace: str = "default"
    workload: Literal["Deployment", "StatefulSet", "none"] = "Deployment"
    name: str = "sglang"
    container: str = "sglang"
    image: str = "lmsysorg/sglang:latest"
    gpus: int = 8
    start_s: float = 2.0


class TmuxKeeper(Frozen):
    """A window of a tmux session, whose server outlives every login."""

    kind: Literal["tmux"]
    session: str = "serve"


class ShellLoopKeeper(Frozen):
    """`while true; do ...; sleep N; done` in a shell."""

    kind: Literal["shell-loop"]
    pause_s: float = 2.0


class SupervisorKeeper(Frozen):
    """A process supervisor without a tool here: supervisord, runit's runsv, s6."""

    kind: Literal["supervisor"]
    title: str = "/usr/bin/python3 /usr/bin/supervisord -n -c /etc/supervisor/supervisord.conf"
    pause_s: float = 1.0


class RayKeeper(Frozen):
    """A worker of a Ray node."""

    kind: Literal["ray"]
    title: str = "/opt/venv/lib/python3.12/site-packages/ray/core/src/ray/raylet/raylet --raylet_socket_name=/tmp/ray/r"


Keeper = Annotated[
    PlainKeeper
    | ContainerKeeper
    | SystemdKeeper
    | SlurmKeeper
    | KubernetesKeeper
    | TmuxKeeper
    | ShellLoopKeeper
    | SupervisorKeeper
    | RayKeeper,
    Field(discriminator="kind"),
]
