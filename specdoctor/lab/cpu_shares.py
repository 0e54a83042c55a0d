"""The practice machine's CPUs mapped onto the real ones, so that affinities mean something on a small computer.

World CPU `c` of `W` stands for real CPU `c * R // W` of `R`. Standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable


def span(first: int, last: int) -> str:
    """A CPU list as the kernel writes it."""
    return str(first) if first == last else f"{first}-{last}"


def format_list(cpus: Iterable[int]) -> str:
    """The kernel's way of writing a set of CPUs."""
    runs: list[tuple[int, int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], cpu)
        else:
            runs.append((cpu, cpu))
    return ",".join(span(first, last) for first, last in runs)


def machine_cpus() -> range:
    """The real CPUs of this computer."""
    return range(os.sysconf("SC_NPROCESSORS_ONLN"))


def real_cpus(wanted: Iterable[int], *, world_count: int, available: Iterable[int]) -> set[int]:
    """Real CPUs that stand for the world's CPUs `wanted` (those outside the world stand for none)."""
    pool = sorted(available)
    inside = {cpu for cpu in wanted if 0 <= cpu < world_count}
    if len(pool) >= world_count:
        return {real for index, real in enumerate(pool) if index * world_count // len(pool) in inside}
    return {pool[cpu * len(pool) // world_count] for cpu in inside}


def world_cpus(real: Iterable[int], *, world_count: int, available: Iterable[int]) -> set[int]:
    """The world's CPUs whose real ones are all in `real`."""
    allowed = set(real)
    pool = tuple(available)
    return {cpu for cpu in range(world_count) if real_cpus((cpu,), world_count=world_count, available=pool) <= allowed}
