"""Does a wide tree lose in a batch where it, or a chain, pays for one request?"""

from __future__ import annotations

from collections import defaultdict

from specdoctor.analysis.measured_rows import LAUNCH_NOISE, Arm, ms_per_token, paired, setting_of
from specdoctor.checks.reading import no_data, silent, windows
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene


class TreeAgainstChain:
    """A tree buys accept length with verified tokens: worth it for one request, seldom for several."""

    name = "tree-against-chain"
    summary = "Compare measured trees and chains at one load, and a tree alone with the same tree in a batch."
    causes = ("LOAD-2",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        loads: dict[float, list[Arm]] = defaultdict(list)
        for arm in paired(scene):
            if arm.tokens:
                loads[arm.row.concurrency or 1.0].append(arm)
        trees = [a for arms in loads.values() for a in arms if (a.row.topk or 1) > 1]
        if not trees:
            return no_data(self.name, "LOAD-2", "no measured rows of a draft tree beside a baseline")
        for load in sorted(loads, reverse=True):
            here = [a for a in loads[load] if (a.row.topk or 1) > 1 and (a.speedup or 1.0) < 1.0]
            chains = [a for a in loads[load] if (a.row.topk or 1) == 1]
            for tree in here:
                quicker = [c for c in chains if _time(c) * (1 + 2 * LAUNCH_NOISE) < _time(tree)]
                if quicker:
                    return (self._beside(tree, min(quicker, key=_time), load),)
                alone = next((a for a in loads.get(min(loads), []) if setting_of(a.row) == setting_of(tree.row)), None)
                if load > min(loads) and alone is not None and (alone.speedup or 0.0) > 1.0:
                    return (self._in_batch(scene, tree, alone, load),)
        return silent(self.name, "LOAD-2", "no measured tree loses where a chain, or the tree alone, pays")

    def _beside(self, tree: Arm, chain: Arm, load: float) -> Observation:
        claim = (
            f"at {load:g} at once {tree.tokens} tokens verified as a tree give {tree.speedup:.2f} times "
            f"the baseline's speed, "
            f"{chain.tokens} as a chain {chain.speedup:.2f}"
        )
        fix = f"a chain of {chain.row.draft_steps} steps at this load"
        return proved(self.name, "LOAD-2", claim, *tree.sources, chain.row.source, about="cycle", fix=fix)

    def _in_batch(self, scene: Scene, tree: Arm, alone: Arm, load: float) -> Observation:
        claim = (
            f"the tree of {tree.tokens} tokens gives {alone.speedup:.2f} times the baseline's speed alone and "
            f"{tree.speedup:.2f} for {load:g} at once"
        )
        sources = (*tree.sources, alone.row.source)
        if any(w.graph is False for w in windows(scene.view)):
            return suspected(self.name, "LOAD-2", claim, *sources, about="cycle")
        return proved(self.name, "LOAD-2", claim, *sources, about="cycle")


def _time(arm: Arm) -> float:
    return ms_per_token(arm.row) or 0.0


check = TreeAgainstChain()
