"""How much a server must verify in one forward, and how much its graphs were captured for."""

from __future__ import annotations

import re

from pydantic import JsonValue

from specdoctor.analysis.given_lines import found_lines
from specdoctor.core.model import Frozen
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView, Source

_TRUNCATED = re.compile(r"max_cudagraph_capture_size (?:to|from \d+ to) (?P<n>\d+)")
_LISTED = re.compile(r"cudagraph_capture_sizes[\"']?\s*[:=]\s*\[(?P<list>[\d, ]+)\]")
_SINGLE = re.compile(r"max_cudagraph_capture_size[\"']?\s*[:=]\s*(?P<n>\d+)")
_SGLANG = re.compile(r"Capture (?:target verify |target )?cuda graph bs \[(?P<list>[\d, ]+)\]")
_FLAG = re.compile(
    r"--(?:max-cudagraph-capture-size|cuda-graph-max-bs(?:-decode)?|cuda-graph-bs|cudagraph-capture-sizes)\b"
)
_SEATS = ("max_num_seqs", "max_running_requests", "max_batch_size")


class Capture(Frozen):
    """`needed` and `largest` in the engine's own unit: tokens (`tokens_per_request` above 1) or requests."""

    requests: int
    tokens_per_request: int
    largest: int
    sources: tuple[Source, ...] = ()
    by_flag: Source | None = None

    @property
    def needed(self) -> int:
        return self.requests * self.tokens_per_request


def capture_of(scene: Scene) -> Capture | None:
    """What must be captured and what is; None where the files do not say both."""
    view = scene.view
    found = _largest(scene)
    if found is None:
        return None
    largest, in_tokens, place = found
    spec = view.spec or view.asked_spec
    each = (spec.draft_steps + 1 if spec is not None and spec.on else 1) if in_tokens else 1
    running = max((w.running for w in view.log.decode), default=0) if view.log is not None else 0
    seats = next((n for name in _SEATS if (n := _whole(view.argument(name)))), None)
    requests = seats if seats is not None and in_tokens else running or seats
    if not requests:
        return None
    flag = next((s for s, _ in found_lines(scene, _FLAG, "launch line")), None)
    return Capture(requests=requests, tokens_per_request=each, largest=largest, sources=(place,), by_flag=flag)


def _largest(scene: Scene) -> tuple[int, bool, Source] | None:
    """The largest captured size, whether it counts tokens, and where it stands."""
    for pattern, in_tokens in ((_TRUNCATED, True), (_LISTED, True), (_SGLANG, False), (_SINGLE, True)):
        for source, match in found_lines(scene, pattern, "server log", "launch line"):
            groups = match.groupdict()
            sizes = [int(n) for n in re.findall(r"\d+", groups.get("list") or groups.get("n") or "")]
            if sizes:
                return max(sizes), in_tokens, source
    return _from_view(scene.view)


def _from_view(view: ServerView) -> tuple[int, bool, Source] | None:
    graphs = [g for g in (view.log.graphs if view.log else ()) if g.what == "target" and g.max_batch]
    if view.log is not None and graphs:
        widest = max(graphs, key=lambda g: g.max_batch or 0)
        return widest.max_batch or 0, False, Source(where=view.log.where, line=widest.line)
    return None


def _whole(value: JsonValue) -> int | None:
    text = str(value)
    return int(text) if text.isdigit() else None
