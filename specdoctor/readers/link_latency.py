"""Latency or bandwidth between GPUs, as CUDA's peer-to-peer test prints it; judged by its words, kept as text."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.material import Material, Notes
from specdoctor.core.reader import Reading

_HEAD = re.compile(
    r"P2P\W*(?:=|Enabled|Disabled|Connectivity).*(?:Matrix|Latency|Bandwidth)|(?:Latency|Bandwidth) .*Matrix",
    re.IGNORECASE,
)
_MOST_CHARS = 256 * 1024


class _Reader(NamedTuple):
    name: str = "link_latency"
    summary: str = "matrices of latency or bandwidth between GPUs"
    rank: int = 26

    def read(self, text: str, *, where: str) -> Reading | None:
        if len(text) > _MOST_CHARS or not _HEAD.search(text):
            return None
        lines = tuple(line.rstrip("\r") for line in text.split("\n"))
        return Reading(kind="gpu topology", pieces=Material(notes=(Notes(where=where, lines=lines),)))


reader = _Reader()
