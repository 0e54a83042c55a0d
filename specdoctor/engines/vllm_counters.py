"""vLLM's counters of speculation, as its metrics endpoint gives them: totals since the start, summed over engines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from specdoctor.core.draft_counts import DraftCounts

_MARK = "vllm:spec_decode_"
_SAMPLE = re.compile(
    r"vllm:spec_decode_num_(?P<name>\w{1,60}?)(?:_total)?(?:\{(?P<labels>[^}]{0,4000})\})?\s+(?P<value>\S{1,40})"
)
_POSITION = re.compile(r'position="(?P<n>\d{1,4})"')


def read_counters(text: str) -> DraftCounts | None:
    """Counts of one dump; None where it has none (no speculation, or statistics off)."""
    sums: dict[str, float] = {}
    positions: dict[int, float] = {}
    for line in text.split("\n"):
        if not line.startswith(_MARK) or "_created" in line:
            continue
        match = _SAMPLE.match(line)
        if match is None:
            continue
        try:
            value = float(match["value"])
        except ValueError:
            continue
        position = _POSITION.search(match["labels"] or "")
        if position is not None:
            positions[int(position["n"])] = positions.get(int(position["n"]), 0.0) + value
        else:
            sums[match["name"]] = sums.get(match["name"], 0.0) + value
    if not {"draft_tokens", "accepted_tokens"} <= set(sums):
        return None
    return DraftCounts.of_totals(
        drafts=sums.get("drafts"),
        drafted=sums["draft_tokens"],
        accepted=sums["accepted_tokens"],
        positions=positions,
    )


def lifetime_counts(texts: Mapping[str, str]) -> DraftCounts | None:
    """The newest counters among files: of several dumps the one with the most drafted tokens of one server."""
    found = [
        (counts.drafted, PurePosixPath(name).name, counts)
        for name, text in texts.items()
        if _MARK in text and (counts := read_counters(text)) is not None
    ]
    return max(found, key=lambda item: item[:2])[2] if found else None
