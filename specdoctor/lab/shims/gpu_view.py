"""The GPUs as nvidia-smi knows them: one value per query field."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdoctor.lab.lab_state import Holding, gpu_holdings, read_world
from specdoctor.lab.machine import MIB_PER_GIB, gpu_bus, gpu_memory_mib, gpu_uuid

IDLE_CLOCK_MHZ = 345
IDLE_REASON = "0x0000000000000001"
NO_REASON = "0x0000000000000000"
REASON_BITS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
}


@dataclass(frozen=True)
class ComputeApp:
    """One row of the process list."""

    gpu: int
    pid: int
    name: str
    memory_mib: int


@dataclass(frozen=True)
class Gpu:
    """One GPU at this moment."""

    index: int
    world: Mapping[str, Any]
    used_mib: int
    busy: float
    has_context: bool

    @property
    def facts(self) -> Mapping[str, Any]:
        gpus: Mapping[str, Any] = self.world["gpus"]
        return gpus

    @property
    def total_mib(self) -> int:
        return gpu_memory_mib(self.world)

    @property
    def uuid(self) -> str:
        return gpu_uuid(self.world, self.index)

    @property
    def bus_id(self) -> str:
        return f"00000000:{gpu_bus(self.index).upper()}"

    @property
    def sm_clock_mhz(self) -> int:
        """A context keeps a data-centre GPU at its working clock; without one it idles."""
        return int(self.facts["clock_sm_mhz"]) if self.has_context else IDLE_CLOCK_MHZ

    @property
    def power_w(self) -> float:
        """Idle draw plus what work adds, never above the limit; the last digits differ from GPU to GPU."""
        limit = float(self.facts["power_limit_w"])
        idle = 0.17 * float(self.facts["power_default_w"]) if self.has_context else 75.0
        jitter = zlib.crc32(f"{self.uuid}{self.used_mib}".encode()) % 400 / 100
        return min(limit, idle + jitter + self.busy * 0.55 * float(self.facts["power_default_w"]))

    @property
    def reasons(self) -> int:
        given = int(str(self.facts["throttle_reasons"]), 16)
        return given if given or self.has_context else int(IDLE_REASON, 16)


def gpus_now(state: Path) -> tuple[list[Gpu], list[ComputeApp]]:
    """All GPUs and the processes on them: the world's tenants and what lives on this host."""
    world = read_world(state)
    holdings = gpu_holdings(state)
    apps = _apps(world, holdings)
    gpus = []
    for index in range(world["gpus"]["count"]):
        own = [app for app in apps if app.gpu == index]
        reserved = round(world["gpus"]["idle_used_gb"] * MIB_PER_GIB)
        tenant_busy = sum(t["utilisation_percent"] / 100 for t in world["gpus"]["tenants"] if t["gpu"] == index)
        busy = sum(holding.busy for holding in holdings if index in holding.memory_mib)
        gpus.append(
            Gpu(
                index=index,
                world=world,
                used_mib=min(reserved + sum(app.memory_mib for app in own), gpu_memory_mib(world)),
                busy=min(1.0, busy + tenant_busy),
                has_context=bool(own),
            )
        )
    return gpus, apps


def _apps(world: Mapping[str, Any], holdings: list[Holding]) -> list[ComputeApp]:
    apps = [
        ComputeApp(tenant["gpu"], tenant["pid"], tenant["command"].split()[0], round(tenant["memory_gb"] * MIB_PER_GIB))
        for tenant in world["gpus"]["tenants"]
    ]
    apps += [
        ComputeApp(gpu, holding.pid, holding.title, mib)
        for holding in holdings
        for gpu, mib in holding.memory_mib.items()
    ]
    return sorted(apps, key=lambda app: (app.gpu, app.pid))


@dataclass(frozen=True)
class QueryField:
    """A field of --query-gpu: its name in the header, its unit, its value without unit."""

    header: str
    unit: str
    value: Callable[[Gpu], str]


def _fixed(header: str, text: str, unit: str = "") -> QueryField:
    return QueryField(header, unit, lambda gpu: text)


def _of(header: str, value: Callable[[Gpu], object], unit: str = "") -> QueryField:
    return QueryField(header, unit, lambda gpu: str(value(gpu)))


def _watts(header: str, value: Callable[[Gpu], float]) -> QueryField:
    return QueryField(header, "W", lambda gpu: f"{value(gpu):.2f}")


def _reason(family: str, name: str) -> QueryField:
    bit = REASON_BITS[name]
    return _of(f"{family}.{name}", lambda gpu: "Active" if gpu.reasons & bit else "Not Active")


def gpu_fields() -> dict[str, QueryField]:
    """Every field that --query-gpu understands here, under all its names."""
    fields = {**_identity_fields(), **_memory_fields(), **_clock_fields(), **_power_fields(), **_mode_fields()}
    for alias, name in _ALIASES.items():
        fields[alias] = fields[name]
    return fields


_ALIASES = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_bus_id": "pci.bus_id",
    "clocks.current.sm": "clocks.sm",
    "clocks.current.memory": "clocks.mem",
    "clocks.current.graphics": "clocks.gr",
    "clocks.max.memory": "clocks.max.mem",
    "clocks.max.graphics": "clocks.max.gr",
    "clocks.applications.gr": "clocks.applications.graphics",
    "clocks.applications.mem": "clocks.applications.memory",
    "pcie.link.gen.gpucurrent": "pcie.link.gen.current",
}


def _identity_fields() -> dict[str, QueryField]:
    return {
        "index": _of("index", lambda gpu: gpu.index),
        "name": _of("name", lambda gpu: gpu.facts["name"]),
        "uuid": _of("uuid", lambda gpu: gpu.uuid),
        "count": _of("count", lambda gpu: gpu.facts["count"]),
        "serial": _of("serial", lambda gpu: 1650000000000 + zlib.crc32(gpu.uuid.encode())),
        "pci.bus_id": _of("pci.bus_id", lambda gpu: gpu.bus_id),
        "pci.domain": _fixed("pci.domain", "0x0000"),
        "pci.bus": _of("pci.bus", lambda gpu: "0x" + gpu.bus_id.split(":")[1]),
        "driver_version": _of("driver_version", lambda gpu: gpu.world["host"]["driver"]),
        "compute_cap": _of("compute_cap", lambda gpu: gpu.facts["compute_capability"]),
        "vbios_version": _fixed("vbios_version", "96.00.A0.00.01"),
    }


def _memory_fields() -> dict[str, QueryField]:
    return {
        "memory.total": _of("memory.total", lambda gpu: gpu.total_mib, "MiB"),
        "memory.used": _of("memory.used", lambda gpu: gpu.used_mib, "MiB"),
        "memory.free": _of("memory.free", lambda gpu: gpu.total_mib - gpu.used_mib, "MiB"),
        "memory.reserved": _fixed("memory.reserved", "641", "MiB"),
        "utilization.gpu": _of("utilization.gpu", lambda gpu: round(100 * gpu.busy), "%"),
        "utilization.memory": _of("utilization.memory", lambda gpu: round(62 * gpu.busy), "%"),
    }


def _clock_fields() -> dict[str, QueryField]:
    fields = {
        "pstate": _fixed("pstate", "P0"),
        "clocks.sm": _of("clocks.current.sm", lambda gpu: gpu.sm_clock_mhz, "MHz"),
        "clocks.gr": _of("clocks.current.graphics", lambda gpu: gpu.sm_clock_mhz, "MHz"),
        "clocks.mem": _of("clocks.current.memory", lambda gpu: gpu.facts["clock_mem_mhz"], "MHz"),
        "clocks.max.sm": _of("clocks.max.sm", lambda gpu: gpu.facts["clock_sm_max_mhz"], "MHz"),
        "clocks.max.gr": _of("clocks.max.graphics", lambda gpu: gpu.facts["clock_sm_max_mhz"], "MHz"),
        "clocks.max.mem": _of("clocks.max.memory", lambda gpu: gpu.facts["clock_mem_mhz"], "MHz"),
        "clocks.applications.graphics": _of(
            "clocks.applications.graphics", lambda gpu: gpu.facts["clock_sm_max_mhz"], "MHz"
        ),
        "clocks.applications.memory": _of("clocks.applications.memory", lambda gpu: gpu.facts["clock_mem_mhz"], "MHz"),
    }
    for family in ("clocks_event_reasons", "clocks_throttle_reasons"):
        fields[f"{family}.active"] = _of(f"{family}.active", lambda gpu: f"0x{gpu.reasons:016X}")
        fields[f"{family}.supported"] = _fixed(f"{family}.supported", "0x00000000000001FF")
        for name in REASON_BITS:
            fields[f"{family}.{name}"] = _reason(family, name)
    return fields


def _power_fields() -> dict[str, QueryField]:
    return {
        "power.draw": _watts("power.draw", lambda gpu: gpu.power_w),
        "power.draw.average": _watts("power.draw.average", lambda gpu: gpu.power_w),
        "power.draw.instant": _watts("power.draw.instant", lambda gpu: gpu.power_w),
        "power.limit": _watts("power.limit", lambda gpu: gpu.facts["power_limit_w"]),
        "enforced.power.limit": _watts("enforced.power.limit", lambda gpu: gpu.facts["power_limit_w"]),
        "power.default_limit": _watts("power.default_limit", lambda gpu: gpu.facts["power_default_w"]),
        "power.min_limit": _watts("power.min_limit", lambda gpu: 200.0),
        "power.max_limit": _watts("power.max_limit", lambda gpu: gpu.facts["power_default_w"]),
        "power.management": _fixed("power.management", "Enabled"),
        "temperature.gpu": _of("temperature.gpu", lambda gpu: gpu.facts["temperature_c"] + round(14 * gpu.busy)),
        "temperature.memory": _of("temperature.memory", lambda gpu: gpu.facts["temperature_c"] + 8),
        "fan.speed": _fixed("fan.speed", "[N/A]", "%"),
    }


def _mode_fields() -> dict[str, QueryField]:
    return {
        "persistence_mode": _fixed("persistence_mode", "Enabled"),
        "display_active": _fixed("display_active", "Disabled"),
        "display_mode": _fixed("display_mode", "Disabled"),
        "compute_mode": _fixed("compute_mode", "Default"),
        "ecc.mode.current": _fixed("ecc.mode.current", "Enabled"),
        "ecc.mode.pending": _fixed("ecc.mode.pending", "Enabled"),
        "ecc.errors.uncorrected.volatile.total": _fixed("ecc.errors.uncorrected.volatile.total", "0"),
        "ecc.errors.corrected.volatile.total": _fixed("ecc.errors.corrected.volatile.total", "0"),
        "mig.mode.current": _fixed("mig.mode.current", "Disabled"),
        "mig.mode.pending": _fixed("mig.mode.pending", "Disabled"),
        "pcie.link.gen.current": _fixed("pcie.link.gen.current", "5"),
        "pcie.link.gen.max": _fixed("pcie.link.gen.max", "5"),
        "pcie.link.width.current": _fixed("pcie.link.width.current", "16"),
        "pcie.link.width.max": _fixed("pcie.link.width.max", "16"),
    }
