"""TensorRT-LLM's metrics: iteration statistics (JSON) and Prometheus series, as drafted and accepted tokens."""

from __future__ import annotations

import json
import re

from pydantic import JsonValue

from specdoctor.core.draft_counts import DraftCounts

_STATS = '"specDecodingStats"'
_TOKENS = re.compile(
    r"^trtllm_spec_decode_num_(?P<name>draft|accepted)_tokens_total(?:\{[^}\n]{0,2000}\})?\s+(?P<n>[\d.eE+]{1,30})\s*$",
    re.M,
)
_INFO = re.compile(r"^trtllm_speculative_config_info\{(?P<labels>[^}\n]{0,2000})\}", re.M)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def iteration_counts(text: str) -> DraftCounts | None:
    """Sums over the iterations of one answer of /metrics; with attention data parallelism all ranks repeat rank 0's."""
    if _STATS not in text:
        return None
    try:
        document: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    items = document if isinstance(document, list) else [document]
    drafts = drafted = accepted = 0
    for item in items:
        stats = item.get("specDecodingStats") if isinstance(item, dict) else None
        if not isinstance(stats, dict):
            continue
        drafts += _count(stats.get("numRequestsWithDraftTokens"))
        drafted += _count(stats.get("numDraftTokens"))
        accepted += _count(stats.get("numAcceptedTokens"))
    return DraftCounts(drafts=drafts, drafted=drafted, accepted=accepted) if drafts else None


def prometheus_counts(text: str) -> DraftCounts | None:
    """Totals since the start; how many drafts they make is not counted."""
    found: dict[str, int] = {}
    for match in _TOKENS.finditer(text):
        try:
            found[match["name"]] = found.get(match["name"], 0) + int(float(match["n"]))
        except (ValueError, OverflowError):
            continue
    if set(found) != {"draft", "accepted"}:
        return None
    return DraftCounts(drafted=found["draft"], accepted=found["accepted"])


def config_info(text: str) -> dict[str, str]:
    """The labels of the series that names the speculation in force; empty without it."""
    match = _INFO.search(text)
    return dict(_LABEL.findall(match["labels"])) if match is not None else {}


def _count(value: JsonValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
