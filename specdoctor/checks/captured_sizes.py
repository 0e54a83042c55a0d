"""Does the batch that must be verified fit the largest captured graph?"""

from __future__ import annotations

from specdoctor.analysis.capture_sizes import Capture, capture_of
from specdoctor.analysis.measured_rows import paired
from specdoctor.checks.reading import log_source, no_data, silent, windows
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import DecodeWindow, Source

CLIFF = 0.8
"""All requests together get at most this share of what fewer requests got: no load does that to a captured step."""
COMPUTES_ANYWAY = 256
"""From about this many tokens a forward computes long enough that launching it costs nothing (see batch-crossover)."""


class CapturedSizes:
    """Engines count differently: vLLM captures tokens (requests x (1 + draft tokens)), SGLang requests."""

    name = "captured-sizes"
    summary = "Compare the batch to be verified with the largest captured graph, and look for the cliff behind it."
    causes = ("GRAPH-1", "CFG-5")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        capture = capture_of(scene)
        if capture is None:
            return no_data(self.name, "GRAPH-1", "captured sizes, draft tokens or the most requests are not known")
        each = capture.tokens_per_request
        seats = capture.largest // each
        said = (
            (
                f"{capture.requests} requests verify {capture.needed} tokens at once, graphs are captured up to "
                f"{capture.largest}: enough for {seats}"
            )
            if each > 1
            else f"{capture.requests} requests at once, graphs are captured up to {capture.largest}"
        )
        if capture.needed <= capture.largest:
            return silent(self.name, "GRAPH-1", said, *capture.sources)
        over = [w for w in windows(scene.view) if w.running > seats]
        cliff = _cliff(scene, seats)
        if cliff is not None:
            claim = f"{said}; beyond, all together get {cliff[0]:.2f} of what {seats} or fewer got"
            return self._both(capture, claim, (*capture.sources, *cliff[1]))
        if capture.largest >= COMPUTES_ANYWAY or not over:
            return silent(self.name, "GRAPH-1", f"{said}; no line shows that it costs anything", *capture.sources)
        return (suspected(self.name, "GRAPH-1", said, *capture.sources, _line(scene, over[0]), about="cycle"),)

    def _both(self, capture: Capture, claim: str, sources: tuple[Source, ...]) -> tuple[Observation, ...]:
        fix = f"capture {capture.needed} and measure at the batch of production"
        flag = capture.by_flag
        found = proved(self.name, "GRAPH-1", claim, *sources, about="cycle", explains=flag is None, fix=fix)
        if flag is None:
            return (found,)
        said = f"{claim}; the ceiling was set by a flag"
        return (proved(self.name, "CFG-5", said, flag, *sources, about="cycle", fix=fix), found)


def _cliff(scene: Scene, seats: int) -> tuple[float, tuple[Source, ...]] | None:
    """Throughput just beyond the captured batch as a share of the best at or below it, where it falls off."""
    below = [w for w in windows(scene.view) if w.running <= seats and w.throughput_tok_s > 0]
    above = [w for w in windows(scene.view) if w.running > seats and w.throughput_tok_s > 0]
    if below and above:
        best = max(below, key=lambda w: w.throughput_tok_s)
        first = min(above, key=lambda w: (w.running, -w.throughput_tok_s))
        share = first.throughput_tok_s / best.throughput_tok_s
        if share < CLIFF:
            return share, (_line(scene, best), _line(scene, first))
    rows = [(a.row.concurrency, a.row) for a in paired(scene) if a.row.concurrency and a.row.throughput_tok_s]
    within = [r for c, r in rows if c <= seats]
    beyond = sorted(((c, r) for c, r in rows if c > seats), key=lambda pair: pair[0])
    if within and beyond:
        top = max(within, key=lambda r: r.throughput_tok_s or 0.0)
        share = (beyond[0][1].throughput_tok_s or 0.0) / (top.throughput_tok_s or 1.0)
        if share < CLIFF:
            return share, (top.source, beyond[0][1].source)
    return None


def _line(scene: Scene, window: DecodeWindow) -> Source:
    return log_source(scene.view, window.line, "")


check = CapturedSizes()
