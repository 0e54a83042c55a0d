"""Drafts that dumps of counters count: since a server's start, or between its first and its last dump."""

from __future__ import annotations

import re

from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.material import Counters, Material
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

_COUNTED = ("vllm:spec_decode_num_", "llamacpp:spec_decode_num_")
"""Both engines count under the same names."""
_POSITION = re.compile(r'position="(\d+)"')
_LLAMA = ("llamacpp:n_drafted_total", "llamacpp:n_accepted_total", "llamacpp:n_drafted", "llamacpp:n_accepted")


def dumps_of(material: Material) -> list[Counters]:
    """The dumps of an engine, the oldest first."""
    return sorted((dump for dump in material.counters if dump.engine is not None), key=_tokens)


def counted_over(ordered: list[Counters]) -> DraftCounts | None:
    """What was counted between the first and the last of these dumps; by a single one, since the server started."""
    whole = _counts(ordered[-1])
    start = _counts(ordered[0]) if len(ordered) > 1 else None
    if whole is None or start is None:
        return whole
    return whole.minus(start) or whole  # a counter that went back is of another start: all of it counts


def _tokens(dump: Counters) -> float:
    """Tokens generated so far: which of two dumps is the older."""
    names = ("generation_tokens_total", "tokens_predicted_total")
    return sum(value for key, value in dump.samples.items() if any(name in key for name in names))


def _sum(dump: Counters, name: str) -> float | None:
    found = [value for key, value in dump.samples.items() if key.partition("{")[0] == name]
    return sum(found) if found else None


def _counts(dump: Counters) -> DraftCounts | None:
    """Drafts of all ranks as a dump counts them; None where it counts none."""
    for prefix in _COUNTED:
        drafted = _sum(dump, f"{prefix}draft_tokens_total")
        if drafted is not None:
            return DraftCounts.of_totals(
                drafts=_sum(dump, f"{prefix}drafts_total") or 0,
                drafted=drafted,
                accepted=_sum(dump, f"{prefix}accepted_tokens_total") or 0,
                positions=_by_position(dump, f"{prefix}accepted_tokens_per_pos_total"),
            )
    for drafted_name, accepted_name in (_LLAMA[:2], _LLAMA[2:]):
        drafted = _sum(dump, drafted_name)
        if drafted is not None:
            return DraftCounts(drafted=int(drafted), accepted=int(_sum(dump, accepted_name) or 0))
    calls = _sum(dump, "sglang:spec_verify_calls_total")
    proposed = _sum(dump, "sglang:spec_proposed_drafts_total")
    correct = _sum(dump, "sglang:spec_correct_drafts_total")
    if calls is not None and correct is not None:
        return DraftCounts(drafts=int(calls), drafted=int(proposed or 0), accepted=int(correct))
    return None


def _by_position(dump: Counters, name: str) -> dict[int, float]:
    positions: dict[int, float] = {}
    for key, value in dump.samples.items():
        match = _POSITION.search(key)
        if match is not None and key.partition("{")[0] == name:
            positions[int(match[1])] = positions.get(int(match[1]), 0.0) + value
    return positions


def counts_by_position(scene: Scene) -> tuple[DraftCounts, Source] | None:
    """Counts by position of the log or of the dumps, whichever rest on more drafts, and where they stand."""
    log = scene.view.log
    dumps = dumps_of(scene.material)
    dumped = counted_over(dumps) if dumps else None
    logged = log.counts if log is not None else None
    found = [(c, w) for c, w in ((logged, log.where if log else ""), (dumped, dumps[-1].where if dumps else ""))
             if c is not None and c.per_position]  # fmt: skip
    best = max(found, key=lambda pair: pair[0].drafts or 0, default=None)
    return (best[0], Source(where=best[1])) if best is not None else None
