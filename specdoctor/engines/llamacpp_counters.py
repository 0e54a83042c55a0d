"""llama.cpp's own counters (/metrics) and request timings: drafted and accepted tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import JsonValue

from specdoctor.core.draft_counts import DraftCounts

_LINE = re.compile(r"^llamacpp:(?P<name>\w{1,80})(?:\{[^}]*?position=\"(?P<position>\d{1,4})\"[^}]*\})?\s+(?P<value>[\d.eE+]{1,30})\s*$", re.M)  # fmt: skip # noqa: E501
DRAFTS = "spec_decode_num_drafts_total"
DRAFTED = "spec_decode_num_draft_tokens_total"
ACCEPTED = "spec_decode_num_accepted_tokens_total"
BY_POSITION = "spec_decode_num_accepted_tokens_per_pos_total"


def lifetime_counts(text: str) -> DraftCounts | None:
    """Counts since the server started; None in a dump without them (older builds, other engines)."""
    totals: dict[str, float] = {}
    positions: dict[int, float] = {}
    for match in _LINE.finditer(text):
        try:
            value = float(match["value"])
        except ValueError:
            continue
        if match["name"] == BY_POSITION and match["position"] is not None:
            positions[int(match["position"])] = value
        else:
            totals[match["name"]] = value
    if DRAFTS not in totals:
        return None
    longest = max(positions, default=-1) + 1
    return DraftCounts(
        drafts=int(totals[DRAFTS]),
        drafted=int(totals.get(DRAFTED, 0)),
        accepted=int(totals.get(ACCEPTED, 0)),
        by_position=tuple(positions.get(i, 0.0) for i in range(min(longest, 1024))),
    )


def counts_between(before: str, after: str) -> DraftCounts | None:
    """Counts of the time between two dumps; None where one lacks them or the server restarted in between."""
    first, last = lifetime_counts(before), lifetime_counts(after)
    if first is None or last is None or first.drafts is None or last.drafts is None:
        return None
    if last.drafts < first.drafts or last.drafted < first.drafted or last.accepted < first.accepted:
        return None
    known = (*first.by_position, *[0.0] * max(0, len(last.by_position) - len(first.by_position)))
    return DraftCounts(
        drafts=last.drafts - first.drafts,
        drafted=last.drafted - first.drafted,
        accepted=last.accepted - first.accepted,
        by_position=tuple(b - a for a, b in zip(known, last.by_position, strict=False)),
    )


def counts_of_timings(timings: Mapping[str, JsonValue]) -> DraftCounts | None:
    """Counts of one answer's `timings`: how many steps carried a draft is not in them."""
    drafted, accepted = timings.get("draft_n"), timings.get("draft_n_accepted")
    if not isinstance(drafted, int) or not isinstance(accepted, int):
        return None
    return DraftCounts(drafted=drafted, accepted=accepted)
