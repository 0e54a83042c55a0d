"""Does speculation pay for few requests and lose for many, or lose everywhere alike?"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.analysis.logged_rows import all_paired
from specdoctor.analysis.measured_rows import LAUNCH_NOISE, Arm, busiest, flat, load_series, rarely_together, threshold
from specdoctor.checks.reading import config_of, experts_of, log_source, no_data, no_files, silent, windows
from specdoctor.checks.saying import excluded, proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene

RIDGE_TOKENS = 300
"""Tokens in one forward from which a dense model computes longer than it reads its weights: peak FLOP/s over bytes/s of
an H100 or B200 in bf16 (989 / 3.35 and 2250 / 8 FLOP per byte; A100 156)."""
SAME_LENGTH = 0.1
MOST_SAID = 8
"""Loads that a sentence names; of more the ends and the middle one."""


class BatchCrossover:
    """Verification is nearly free while the weights are being read, and costs its share once the GPU computes."""

    name = "batch-crossover"
    summary = "Follow the gain from few requests to many, and see whether the batch alone makes verification compute."
    causes = ("LOAD-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        series = () if no_files(scene) else load_series(all_paired(scene))
        if series:
            return self._by_table(scene, series)
        return self._by_log(scene)

    def _by_table(self, scene: Scene, series: Sequence[Arm]) -> tuple[Observation, ...]:
        first, last = series[0], series[-1]
        least = min(series, key=lambda a: a.speedup or 0.0)
        lengths = [a.accept_length for a in series if a.accept_length is not None]
        steady = not lengths or flat(lengths, SAME_LENGTH)
        few = series if len(series) <= MOST_SAID else (first, series[len(series) // 2], last)
        said = "; ".join(f"{_load(a)}: {a.speedup:.2f}" for a in few)
        sources = (*first.sources, *last.sources)
        gain, end = first.speedup or 0.0, last.speedup or 0.0
        if gain < 1.0 and not rarely_together(first):
            claim = f"it loses at every load that was measured ({said}); whether it pays for one request is not known"
            return (suspected(self.name, "LOAD-1", claim, *sources, about="cycle"),)
        if gain < 1.0:
            claim = f"the loss is there at the smallest load already (speed against the baseline: {said})"
            return (excluded(self.name, "LOAD-1", claim, *sources, against="LOAD-1"),)
        most = max((w.running for w in windows(scene.view)), default=0)
        if (least.speedup or 0.0) >= 1.0 and steady and most > busiest(series) and last.row.concurrency is not None:
            claim = f"it pays at every load that was compared ({said}); {most} requests ran at once, not compared"
            return silent(self.name, "LOAD-1", claim, *sources)
        if (least.speedup or 0.0) >= 1.0 and steady:
            claim = f"speculation pays at every load; the gain shrinks as verification takes its share ({said})"
            return (excluded(self.name, "LOAD-1", claim, *sources),)
        if end >= 1.0 or not steady:
            return silent(self.name, "LOAD-1", f"no steady fall over the load ({said})", *sources)
        chain = next((a for a in all_paired(scene) if _pays_as_chain(a, last)), None)
        if chain is not None:
            claim = (
                f"{_load(chain)} a chain of {chain.tokens} tokens still gives {chain.speedup:.2f} times the speed, "
                f"{last.tokens} as a tree {end:.2f}: the width of the tree, not the batch"
            )
            return (excluded(self.name, "LOAD-1", claim, *sources, chain.row.source, against="LOAD-1"),)
        claim = f"the gain falls with the load while the accept length stays: {said}"
        eager = [w for w in windows(scene.view) if w.graph is False]
        if eager:
            said = f"{claim}; decode steps without graphs may do the same"
            return (suspected(self.name, "LOAD-1", said, *sources, about="cycle"),)
        if end >= 1 - LAUNCH_NOISE:
            said = f"{claim}; a loss so small may be the spread between two starts"
            return (suspected(self.name, "LOAD-1", said, *sources, about="cycle"),)
        fix = f"{threshold(series)}; or fewer draft tokens (1 or 2), or a separate pool for few requests"
        return (proved(self.name, "LOAD-1", claim, *sources, about="cycle", fix=fix),)

    def _by_log(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        seen = windows(view)
        if no_files(scene) or view.spec is None or not view.spec.on or not seen:
            return no_data(self.name, "LOAD-1", "neither rows of several loads nor a log with speculation")
        most = max(seen, key=lambda w: w.running)
        each = view.spec.draft_tokens or view.spec.draft_steps + 1
        if most.running < RIDGE_TOKENS or experts_of(config_of(scene, "target")[0]) is not None:
            return silent(self.name, "LOAD-1", f"at most {most.running} requests at once, {each} tokens each")
        claim = (
            f"{most.running} requests decode together: a forward of one token each computes longer than it reads the "
            f"weights (from some {RIDGE_TOKENS} tokens), so each rejected draft costs its full time"
        )
        slow = "slow" in scene.complaints
        place = log_source(view, most.line, "")
        return (proved(self.name, "LOAD-1", claim, place, about="cycle", explains=slow),)


def _pays_as_chain(arm: Arm, tree: Arm) -> bool:
    """Whether the arm is a chain that pays at a load where that tree does not."""
    same = arm.row.concurrency == tree.row.concurrency and arm.row.request_rate == tree.row.request_rate
    return same and (tree.row.topk or 1) > 1 and (arm.row.topk or 1) == 1 and (arm.speedup or 0.0) >= 1.0


def _load(arm: Arm) -> str:
    row = arm.row
    return f"{row.concurrency:g} at once" if row.concurrency is not None else f"{row.request_rate:g} a second"


check = BatchCrossover()
