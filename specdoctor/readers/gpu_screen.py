"""What the vendor's tool prints of the GPUs without being asked for anything: the boxed table."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.material import GpuSheet, Material
from specdoctor.core.reader import Reading

_HEAD = re.compile(r"NVIDIA-SMI\s+([\d.]+)\s+Driver Version:\s*([\d.]+)")
_NAME = re.compile(r"^\|\s+(\d+)\s+(\S.*?)\s{2,}")
_STATE = re.compile(r"(\d+)C\s+(P\d+)\s+(\d+)W\s*/\s*(\d+)W\s*\|\s*(\d+)MiB\s*/\s*(\d+)MiB\s*\|\s*(\d+)%")
_MOST_CHARS = 1 << 20


class _Reader(NamedTuple):
    name: str = "gpu_screen"
    summary: str = "the table that nvidia-smi prints"
    rank: int = 15

    def read(self, text: str, *, where: str) -> Reading | None:
        head = _HEAD.search(text) if len(text) <= _MOST_CHARS else None
        if head is None:
            return None
        rows: list[dict[str, str]] = []
        lines: list[int] = []
        name: tuple[str, str] | None = None
        for number, line in enumerate(text.split("\n"), start=1):
            state = _STATE.search(line)
            if state is not None and name is not None:
                rows.append({"index": name[0], "name": name[1], "driver_version": head[2], **_fields(state)})
                lines.append(number)
                name = None
            elif (match := _NAME.match(line)) is not None and state is None:
                name = (match[1], match[2])
        sheet = GpuSheet(where=where, rows=tuple(rows), lines=tuple(lines))
        return Reading(kind="gpu table", pieces=Material(gpus=(sheet,))) if rows else None


def _fields(state: re.Match[str]) -> dict[str, str]:
    return {
        "temperature.gpu": state[1],
        "pstate": state[2],
        "power.draw": f"{state[3]} W",
        "power.limit": f"{state[4]} W",
        "memory.used": f"{state[5]} MiB",
        "memory.total": f"{state[6]} MiB",
        "utilization.gpu": f"{state[7]} %",
    }


reader = _Reader()
