"""World facts about the machine and what is installed on it."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from specdoctor.core.model import Frozen


def release_of(version: str) -> tuple[int, int, int]:
    """(major, minor, patch) of a version; pre-, post- and development parts are dropped."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if found is None:
        raise ValueError(f"no version like 0.5.12: {version!r}")
    return (int(found[1]), int(found[2]), int(found[3]))


class Install(Frozen):
    """An editable install of the engine in a virtual environment of its own, from a checkout at a commit.

    `host_factor` and `gpu_factor` multiply the times of a server that runs from it. `ids_as_inputs`: its source takes
    the layer ids of a drafter as inputs of layers, whatever its version does.
    """

    venv: str
    source: str
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    host_factor: float = 1.0
    gpu_factor: float = 1.0
    ids_as_inputs: bool = False


class Engine(Frozen):
    """The installed engine: what `pip show` and /server_info report. `installs` are further ones, from checkouts."""

    name: Literal["sglang"] = "sglang"
    version: str
    python: str = "3.12.3"
    venv: str = "/opt/venv"
    packages: dict[str, str] = Field(default_factory=dict)
    installed_s_ago: float = 20_000_000.0
    """When all packages were put in place, the engine and its further installs too."""
    installs: tuple[Install, ...] = ()
    never_replayed: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Attention back-end -> phases whose CUDA graph this build captures and does not use."""
    loses_sampled_text: bool = False
    """Whether this build, with speculation and a temperature above 0, accepts no draft and writes noise."""

    @property
    def release(self) -> tuple[int, int, int]:
        """(major, minor, patch)."""
        return release_of(self.version)

    @field_validator("version")
    @classmethod
    def _is_a_version(cls, value: str) -> str:
        release_of(value)
        return value


class GpuTenant(Frozen):
    """Another process that holds memory on a GPU."""

    gpu: int
    memory_gb: float
    pid: int = 977
    command: str = "python train.py"
    user: str = "guest"
    utilisation_percent: int = 0


class Gpus(Frozen):
    """The GPUs as nvidia-smi shows them. Memory in GiB."""

    name: str = "NVIDIA H200"
    count: int = 1
    memory_gb: float = 140.4
    idle_used_gb: float = 0.6
    compute_capability: str = "9.0"
    power_limit_w: float = 700.0
    power_default_w: float = 700.0
    clock_sm_mhz: int = 1980
    clock_sm_max_mhz: int = 1980
    clock_mem_mhz: int = 3201
    temperature_c: int = 41
    throttle_reasons: str = "0x0000000000000000"
    interconnect: Literal["nvlink", "pcie", "none"] = "nvlink"
    tenants: tuple[GpuTenant, ...] = ()


class Host(Frozen):
    """The machine. `files` are further text files (absolute path -> text); `{models}` and `{home}` expand in paths."""

    name: str
    user: str = "ml"
    os: str = "Ubuntu 24.04.2 LTS"
    kernel: str = "6.8.0-60-generic"
    cpu_model: str = "INTEL(R) XEON(R) PLATINUM 8570"
    cpus: int = 112
    numa_nodes: int = 2
    memory_gb: float = 2015.0
    governor: str = "performance"
    driver: str = "580.95.05"
    cuda: str = "13.0"
    up_since_s: float = 1_900_000.0
    container_started_s_ago: float | None = None
    """The login is inside a container that was started then; None: it is on the machine itself."""
    boot_s: float = 1.0
    python: bool = True
    sudo: Literal["none", "password", "passwordless"] = "none"
    files: dict[str, str] = Field(default_factory=dict)
    dmesg: tuple[str, ...] = ()
