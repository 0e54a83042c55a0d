"""Start-up lines: weights, KV cache, CUDA graphs, limits and times of one start."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from specdoctor.core.server import GraphCapture, StartTimes

GraphKind = Literal["target", "draft decode", "draft extend", "prefill"]
_WEIGHTS = re.compile(r"Load weight end\..*?type=(?P<cls>\w+)")
_ELAPSED = re.compile(r"(?:elapsed=|Time elapsed: )(?P<s>\d+\.\d+) ?s")
_GRAPH = re.compile(
    r"Capture (?P<what>[\w -]*?)\s*(?:cuda|cpu|npu|xpu|musa) graph (?P<edge>begin|end)\b", re.IGNORECASE
)
_GRAPH_SIZES = re.compile(r"Capture (?:\w+ )?graph bs \[(?P<sizes>[\d, ]*)\]")
_PER_REQUEST = re.compile(r"num_tokens_per_(?:req|bs)=(?P<n>\d+)")
_SIZES = re.compile(r"\bbs=\[(?P<sizes>[\d, ]*)\]")
_POOL = re.compile(
    r"max_total_num_tokens=(?P<max_total_num_tokens>\d+), chunked_prefill_size=(?P<chunked_prefill_size>-?\d+|None), "
    r"max_prefill_tokens=(?P<max_prefill_tokens>\d+), max_running_requests=(?P<max_running_requests>\d+), "
    r"context_len=(?P<context_length>\d+)"
)
_TIMING = re.compile(r"(?P<name>\w+)=(?P<s>\d+\.\d+)")
STARTUP_WORDS = ("Load weight", "Capture ", "max_total_num_tokens=", "Engine startup timings")


@dataclass
class StartupReading:
    """What the start-up lines of one start say. Lines of all ranks repeat each other: the first rank seen counts."""

    weight_classes: list[str] = field(default_factory=list)
    graphs: dict[GraphKind, GraphCapture] = field(default_factory=dict)
    pool: dict[str, int] = field(default_factory=dict)
    pool_line: int | None = None
    pool_quote: str = ""
    first_at: float | None = None
    ready_at: float | None = None
    load_s: float = 0.0
    graph_s: float = 0.0
    timings: dict[str, float] = field(default_factory=dict)
    _rank: str | None = None
    _load_began: float | None = None
    _load_loose: float = 0.0

    def take(self, message: str, *, line: int, at: float | None, rank: str) -> None:
        """Read one line that holds one of STARTUP_WORDS."""
        if "Engine startup timings" in message:
            for match in _TIMING.finditer(message):
                self.timings.setdefault(match["name"], float(match["s"]))
            return
        if "max_total_num_tokens=" in message:
            self._take_pool(message, line)
            return
        if self._rank is None:
            self._rank = rank
        if rank != self._rank:
            return
        if "Load weight" in message:
            self._take_weights(message, at)
        else:
            self._take_graph(message, line)

    def _take_pool(self, message: str, line: int) -> None:
        match = _POOL.search(message)
        if match is not None and not self.pool:
            self.pool = {name: int(value) for name, value in match.groupdict().items() if value != "None"}
            self.pool_line = line
            self.pool_quote = match[0]

    def _take_weights(self, message: str, at: float | None) -> None:
        if "Load weight begin" in message:
            self._load_began = at
            return
        match = _WEIGHTS.search(message)
        if match is None:
            return
        self.weight_classes.append(match["cls"])
        elapsed = _ELAPSED.search(message)
        if elapsed is not None:
            self.load_s += float(elapsed["s"])
        elif at is not None and self._load_began is not None:
            self.load_s += max(0.0, at - self._load_began)

    def _take_graph(self, message: str, line: int) -> None:
        sizes = _GRAPH_SIZES.search(message)
        if sizes is not None:
            known = self.graphs.get("target")
            if known is not None:
                self.graphs["target"] = known.model_copy(update={"max_batch": _largest(sizes["sizes"])})
            return
        match = _GRAPH.search(message)
        if match is None:
            return
        what = _graph_kind(match["what"].lower())
        per_request = _PER_REQUEST.search(message)
        listed = _SIZES.search(message)
        known = self.graphs.get(what) or GraphCapture(what=what, line=line)
        update: dict[str, object] = {}
        if per_request is not None:
            update["tokens_per_request"] = int(per_request["n"])
        if listed is not None:
            update["max_batch"] = _largest(listed["sizes"])
        if match["edge"].lower() == "end":
            elapsed = _ELAPSED.search(message)
            if elapsed is not None:
                self.graph_s += float(elapsed["s"])
                update["elapsed_s"] = float(elapsed["s"]) + (known.elapsed_s or 0.0)
            update["finished"] = True
        self.graphs[what] = known.model_copy(update=update)

    def times(self) -> StartTimes:
        """Seconds by phase; the engine's own summary is preferred to sums over lines."""
        total = None
        if self.ready_at is not None and self.first_at is not None and self.ready_at >= self.first_at:
            total = self.ready_at - self.first_at
        phases = ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend")
        summed = [self.timings[name] for name in phases if name in self.timings]
        return StartTimes(
            total_s=total,
            load_weight_s=self.timings.get("load_weight") or self.load_s or None,
            kv_cache_s=self.timings.get("kv_cache_allocation"),
            graphs_s=sum(summed) if summed else (self.graph_s or None),
        )


def _graph_kind(what: str) -> GraphKind:
    if "prefill" in what or "piecewise" in what:
        return "prefill"
    if "draft extend" in what:
        return "draft extend"
    return "draft decode" if "draft" in what else "target"


def _largest(sizes: str) -> int | None:
    numbers = [int(part) for part in sizes.split(",") if part.strip().isdigit() and len(part) < 12]
    return max(numbers, default=None)
