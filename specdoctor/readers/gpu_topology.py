"""How the GPUs hang together: `nvidia-smi topo -m`."""

from __future__ import annotations

from typing import NamedTuple

from specdoctor.core.facts import CommandFacts
from specdoctor.core.gpu_table import gpu_places
from specdoctor.core.material import GpuSheet, Material
from specdoctor.core.reader import Reading

_LINKS = frozenset({"X", "PIX", "PXB", "PHB", "NODE", "SYS"})
_MOST_CHARS = 1 << 20


class _Reader(NamedTuple):
    name: str = "gpu_topology"
    summary: str = "the matrix of nvidia-smi topo -m"
    rank: int = 15

    def read(self, text: str, *, where: str) -> Reading | None:
        if (
            len(text) > _MOST_CHARS
            or "GPU0" not in text
            or not any(f"\t{w}" in text or f" {w}" in text for w in _LINKS)
        ):
            return None
        places = gpu_places(CommandFacts(argv=("nvidia-smi", "topo", "-m"), stdout=text))
        sound = [p for p in places if p.links and all(w in _LINKS or w.startswith("NV") for w in p.links)]
        if not sound:
            return None
        links = {f"GPU{place.index}": place.links for place in sound}
        nodes = tuple({"index": str(p.index), "numa_node": p.numa_node or ""} for p in sound)
        lines = tuple(_line(text, f"GPU{place.index}") for place in sound)
        return Reading(
            kind="gpu topology", pieces=Material(gpus=(GpuSheet(where=where, rows=nodes, lines=lines, links=links),))
        )


def _line(text: str, name: str) -> int:
    rows = text.split("\n")
    found = [n for n, line in enumerate(rows, start=1) if line.split()[:1] == [name] and "X" in line.split()]
    return found[0] if found else 1


reader = _Reader()
