"""Do the data-parallel workers of a server differ by more than their requests make them differ?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from specdoctor.analysis.measured_rows import LAUNCH_NOISE, flat
from specdoctor.checks.reading import log_source, no_data, no_files, windows
from specdoctor.checks.saying import excluded, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import DecodeWindow

FEWEST_LINES = 2
STRAGGLER = 1.2
"""A worker whose cycle is this much longer than the median of all is called a straggler (named heuristic)."""
OUTLIER = 0.75
"""A worker that accepts at most this share of the median of all accepts less for a reason (named heuristic)."""


class Workers:
    """Each worker serves other requests, so accept lengths spread; the cycle is the same work for all of them."""

    name = "workers"
    summary = (
        "Compare accept length and cycle of the workers of one server: an ordinary spread, or one that stands out."
    )
    causes = ("WIRE-5", "ENV-4")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if no_files(scene):
            return no_data(self.name, None, "no files were given to be judged")
        by_rank: dict[str, list[DecodeWindow]] = defaultdict(list)
        for w in windows(scene.view):
            if w.accept_length is not None and w.throughput_tok_s > 0 and w.clean:
                by_rank[w.rank].append(w)
        ranks = {r: ws for r, ws in by_rank.items() if len(ws) >= FEWEST_LINES}
        if len(ranks) < 2:
            return no_data(self.name, None, "the log does not tell of several workers")
        lengths = {r: _mean([w.accept_length or 0.0 for w in ws]) for r, ws in ranks.items()}
        steps = {r: _mean([_step_ms(w) for w in ws]) for r, ws in ranks.items()}
        low, high = min(lengths, key=lambda r: lengths[r]), max(lengths, key=lambda r: lengths[r])
        slow = max(steps, key=lambda r: steps[r])
        sources = tuple(log_source(scene.view, ranks[rank][0].shows_acceptance, "") for rank in (low, high))
        said = (
            f"accept length {lengths[low]:.2f} ({low}) to {lengths[high]:.2f} ({high}) over {len(ranks)} workers, "
            f"cycles of {min(steps.values()):.0f} to {max(steps.values()):.0f} ms"
        )
        if steps[slow] > STRAGGLER * _middle(list(steps.values())):
            claim = f"{slow} takes {steps[slow]:.0f} ms a cycle, the median worker {_middle(list(steps.values())):.0f}"
            place = log_source(scene.view, ranks[slow][0].line, "")
            return (suspected(self.name, "ENV-4", claim, place, about="cycle"),)
        if lengths[low] < OUTLIER * _middle(list(lengths.values())):
            return (suspected(self.name, "WIRE-5", said, *sources, about="accept_length"),)
        if not flat(steps.values(), 2 * LAUNCH_NOISE):
            return no_data(self.name, None, f"{said}: too few lines to judge")
        return (excluded(self.name, None, f"{said}: the same work, other requests", *sources, about="accept_length"),)


def _step_ms(w: DecodeWindow) -> float:
    return 1000.0 * w.running * (w.accept_length or 0.0) / w.throughput_tok_s


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


check = Workers()
