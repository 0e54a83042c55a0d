"""The table of GPUs that the vendor's tool prints."""

from __future__ import annotations

import csv
import io
import re

from specdoctor.core.facts import CommandFacts
from specdoctor.core.model import Frozen

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def gpu_rows(command: CommandFacts) -> list[dict[str, str]]:
    """Rows of `nvidia-smi --query-gpu=... --format=csv` by field name: from the header, else from the query."""
    try:
        lines = [row for row in csv.reader(io.StringIO(command.stdout), skipinitialspace=True) if row]
    except csv.Error:  # a lone carriage return, a field without end
        return []
    asked = next((w.split("=", 1)[1].split(",") for w in command.argv if w.startswith("--query-gpu=")), [])
    if lines and "index" in lines[0]:
        asked = [name.split(" [")[0].strip() for name in lines.pop(0)]
    return [_known_names(dict(zip(asked, (v.strip() for v in row), strict=False))) for row in lines] if asked else []


_SAME = {
    "clocks.sm": ("clocks.current.sm", "clocks.gr", "clocks.current.graphics"),
    "clocks.max.sm": ("clocks.max.gr", "clocks.max.graphics"),
    "power.limit": ("enforced.power.limit", "power.default_limit"),
    "power.draw": ("power.draw.average", "power.draw.instant"),
}


def _known_names(row: dict[str, str]) -> dict[str, str]:
    """The row with the usual name beside each other spelling of the tool's own for the same figure."""
    found = {name: row[other] for name, others in _SAME.items() for other in others[::-1] if other in row}
    return {**found, **row}


class GpuPlace(Frozen):
    """Where a GPU hangs: the kind of link to each GPU in index order (`X` to itself), and its NUMA node if told."""

    index: int
    links: tuple[str, ...]
    numa_node: str | None


def gpu_places(command: CommandFacts) -> tuple[GpuPlace, ...]:
    """Rows of `nvidia-smi topo -m`, which may underline its header and list network cards beside the GPUs."""
    found: list[GpuPlace] = []
    columns: list[str] = []
    for line in _ESCAPE.sub("", command.stdout).splitlines():
        words = line.split()
        if not columns:
            columns = [word for word in words if re.fullmatch(r"(?:GPU|NIC|mlx)\S*\d+", word)] if words else []
            continue
        if not words or not re.fullmatch(r"GPU\d+", words[0]):
            continue
        links = [word for word, column in zip(words[1:], columns, strict=False) if column.startswith("GPU")]
        behind = words[1 + len(columns) :]
        node = behind[1] if len(behind) > 1 and behind[1].isdigit() else None
        found.append(GpuPlace(index=int(words[0][3:]), links=tuple(links), numa_node=node))
    return tuple(found)
