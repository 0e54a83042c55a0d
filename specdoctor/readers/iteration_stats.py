"""Statistics of single passes as TensorRT-LLM's /metrics gives them: a JSON list, one object for each pass."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from pydantic import JsonValue

from specdoctor.core.material import Iteration, Iterations, Material
from specdoctor.core.reader import Reading
from specdoctor.core.server import Source
from specdoctor.readers.json_file import document_of, number_at, objects_by_line

_MOST = 50_000


class _Reader(NamedTuple):
    name: str = "iteration_stats"
    summary: str = "TensorRT-LLM's statistics of each pass (/metrics)"
    rank: int = 9

    def read(self, text: str, *, where: str) -> Reading | None:
        if '"iterLatencyMS"' not in text[: 1 << 16]:
            return None
        document = document_of(text)
        items = (
            document
            if isinstance(document, list)
            else [document]
            if document
            else [o for _, o in objects_by_line(text)]
        )
        lines = (
            [text.count("\n", 0, m.start()) + 1 for m in re.finditer(r'"iter"\s*:', text)]
            if len(text) < 1 << 22
            else []
        )
        found = [item for item in items[:_MOST] if isinstance(item, dict) and "iterLatencyMS" in item]
        passes = tuple(_pass(item, where, lines[n] if n < len(lines) else None) for n, item in enumerate(found))
        if not passes:
            return None
        return Reading(
            kind="counters", pieces=Material(iterations=(Iterations(where=where, engine="trtllm", passes=passes),))
        )


def _pass(item: dict[str, JsonValue], where: str, line: int | None) -> Iteration:
    spec = item.get("specDecodingStats")
    stats: dict[str, JsonValue] = spec if isinstance(spec, dict) else {}
    number = number_at(item, "iter")
    running, queued = number_at(item, "numActiveRequests"), number_at(item, "numQueuedRequests")
    return Iteration(
        source=Source(where=where, line=line, key="iter", quote=f'"iter": {json.dumps(item.get("iter"))}'),
        number=int(number) if number is not None else None,
        latency_ms=number_at(item, "iterLatencyMS"),
        running=int(running) if running is not None else None,
        queued=int(queued) if queued is not None else None,
        drafted_tokens=number_at(stats, "numDraftTokens"),
        accepted_tokens=number_at(stats, "numAcceptedTokens"),
        accept_length=number_at(stats, "acceptanceLength"),
    )


reader = _Reader()
