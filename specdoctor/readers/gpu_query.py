"""What the vendor's tool printed of the GPUs, asked for fields (CSV)."""

from __future__ import annotations

from typing import NamedTuple

from specdoctor.core.facts import CommandFacts
from specdoctor.core.gpu_table import gpu_rows
from specdoctor.core.material import GpuSheet, Material
from specdoctor.core.reader import Reading

_FIELDS = ("utilization.gpu", "power.draw", "clocks.sm", "temperature.gpu", "clocks.current.sm", "pstate",
           "memory.total", "driver_version", "pcie.link.gen.current")  # fmt: skip
_MOST_CHARS = 1 << 20


class _Reader(NamedTuple):
    name: str = "gpu_query"
    summary: str = "nvidia-smi --query-gpu=... --format=csv"
    rank: int = 15

    def read(self, text: str, *, where: str) -> Reading | None:
        if len(text) > _MOST_CHARS:
            return None
        lines = text.split("\n")
        first = next((n for n, line in enumerate(lines) if sum(f in line for f in _FIELDS) >= 2 and "," in line), None)
        if first is None:
            return None
        heads = [cell.split(" [")[0].strip() for cell in lines[first].split(",")]
        body = [
            (n, line) for n, line in enumerate(lines[first + 1 :], start=first + 2) if line.count(",") >= len(heads) - 1
        ]
        asked = ("nvidia-smi", f"--query-gpu={','.join(heads)}", "--format=csv")
        rows = gpu_rows(CommandFacts(argv=asked, stdout="\n".join(line for _, line in body)))
        sheet = GpuSheet(where=where, rows=tuple(rows), lines=tuple(n for n, _ in body)[: len(rows)])
        return Reading(kind="gpu table", pieces=Material(gpus=(sheet,))) if rows else None


reader = _Reader()
