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
    return DraftCounts.of_totals(
        drafts=totals[DRAFTS],
        drafted=totals.get(DRAFTED, 0),
        accepted=totals.get(ACCEPTED, 0),
        positions=positions,
    )


def counts_between(before: str, after: str) -> DraftCounts | None:
    """Counts of the time between two dumps; None where one lacks them or the server restarted in between."""
    first, last = lifetime_counts(before), lifetime_counts(after)
    return last.minus(first) if first is not None and last is not None else None


def counts_of_timings(timings: Mapping[str, JsonValue]) -> DraftCounts | None:
    """Counts of one answer's `timings`: how many steps carried a draft is not in them."""
    drafted, accepted = timings.get("draft_n"), timings.get("draft_n_accepted")
    if not isinstance(drafted, int) or not isinstance(accepted, int):
        return None
    return DraftCounts(drafted=drafted, accepted=accepted)
