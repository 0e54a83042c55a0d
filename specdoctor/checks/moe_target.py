"""Does verifying more tokens wake more experts of a sparse target?"""

from __future__ import annotations

from specdoctor.checks.reading import experts_of, no_data, silent
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source


class MoeTarget:
    """With E experts and K active, t tokens touch up to E(1-(1-K/E)^t) of them: the verify reads more weights."""

    name = "moe-target"
    summary = "See whether the target is a sparse mixture of experts, and how many experts a verify may touch."
    causes = ("LOAD-3",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.target_config is None:
            return no_data(self.name, "LOAD-3", "the target's config.json was not read")
        sparse = experts_of(view.target_config)
        if sparse is None:
            return silent(self.name, "LOAD-3", "the target is dense")
        active, experts = sparse
        if view.spec is None or not view.spec.on:
            return silent(self.name, "LOAD-3", "no speculation is in force")
        tokens = view.spec.draft_tokens
        touched = experts * (1 - (1 - active / experts) ** tokens)
        return (
            Observation(
                check=self.name,
                cause="LOAD-3",
                stance="suggests",
                about="cycle",
                claim=f"{active} of {experts} experts are active per token; {tokens} verified tokens touch up to "
                f"{touched:.1f}, {touched / active:.2f} times one token's",
                sources=(
                    Source(where=f"{view.model_path}/config.json", key="experts", quote=f"{active} of {experts}"),
                ),
                decided_by="load",
                decides="time one target forward at 1, 2, 4 and 8 tokens: growth by token count confirms it",
            ),
        )


check = MoeTarget()
