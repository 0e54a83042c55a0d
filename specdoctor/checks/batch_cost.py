"""Is a chain verified for so many requests at once that verify computes instead of waiting for memory?"""

from __future__ import annotations

from specdoctor.checks.reading import at_once, in_force, silent
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene


class BatchCost:
    """One request leaves the GPU waiting for memory, many keep it computing: then each verified token costs time."""

    name = "batch-cost"
    summary = "See whether many requests at once are verified, so that speculation may pay for few and lose for many."
    causes = ("LOAD-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        spec = scene.view.spec
        if spec is None or not spec.on:
            return silent(self.name, "LOAD-1", "no speculation is in force")
        if at_once(scene) < 2 or spec.topk > 1:
            what = "a tree is in force" if spec.topk > 1 else "one request at a time"
            return silent(self.name, "LOAD-1", what)
        each, clients = spec.draft_tokens, at_once(scene)
        return (
            Observation(
                check=self.name,
                cause="LOAD-1",
                stance="suggests",
                about="cycle",
                claim=f"{each * clients} tokens are verified at once, {each} for each of {clients} requests",
                sources=(in_force(scene.view, "speculative_num_draft_tokens"),),
                decided_by="load",
                decides="throughput with and without speculation, for one client and for all of them",
            ),
        )


check = BatchCost()
