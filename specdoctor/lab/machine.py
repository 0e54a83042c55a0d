"""Figures of the practice machine that follow from the world: bus addresses, NUMA nodes, links between GPUs.

Works on the plain JSON of a world and the standard library alone, for the programs in `shims`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

_BUSES = (0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB)
_NAMESPACE = uuid.UUID("5d0c7a3e-7f0b-4a55-9b0e-6f1f5f9f2c11")
MIB_PER_GIB = 1024


def gpu_uuid(world: Mapping[str, Any], index: int) -> str:
    return f"GPU-{uuid.uuid5(_NAMESPACE, world['name'] + '/' + str(index))}"


def gpu_bus(index: int) -> str:
    """PCI address without domain, as in sysfs after `0000:`."""
    return f"{_BUSES[index % len(_BUSES)] + index // len(_BUSES):02x}:00.0"


def gpu_memory_mib(world: Mapping[str, Any]) -> int:
    return round(float(world["gpus"]["memory_gb"]) * MIB_PER_GIB)


def gpu_node(world: Mapping[str, Any], index: int) -> int:
    """NUMA node a GPU hangs on: the first half on the first nodes, as in dual-socket machines."""
    nodes, count = world["host"]["numa_nodes"], world["gpus"]["count"]
    return int(index * nodes // max(count, 1))


def node_cpus(world: Mapping[str, Any], node: int) -> tuple[int, int]:
    """First and last CPU of a node."""
    cpus, nodes = world["host"]["cpus"], world["host"]["numa_nodes"]
    return node * cpus // nodes, (node + 1) * cpus // nodes - 1


def node_memory_mib(world: Mapping[str, Any]) -> int:
    return round(float(world["host"]["memory_gb"]) * MIB_PER_GIB / int(world["host"]["numa_nodes"]))


def link(world: Mapping[str, Any], one: int, other: int) -> str:
    """How two GPUs reach each other, in the words of `nvidia-smi topo -m`."""
    if one == other:
        return " X "
    if world["gpus"]["interconnect"] == "nvlink":
        return "NV18"
    if gpu_node(world, one) != gpu_node(world, other):
        return "SYS"
    return "PIX" if world["gpus"]["interconnect"] == "pcie" and one // 2 == other // 2 else "NODE"
