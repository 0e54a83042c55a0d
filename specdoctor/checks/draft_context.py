"""Does the target run longer contexts than the drafter knows?"""

from __future__ import annotations

from specdoctor.checks.reading import no_data, silent, text_config, whole
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source


class DraftContext:
    """Beyond its trained length a drafter's acceptance decays; the configs say where that begins."""

    name = "draft-context"
    summary = "Compare the drafter's max_position_embeddings with the target's."
    causes = ("TRAIN-4",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        draft = whole(text_config(view.draft_config).get("max_position_embeddings"))
        target = whole(text_config(view.target_config).get("max_position_embeddings"))
        if view.spec is None or not view.spec.on or view.draft_path == view.model_path:
            return silent(self.name, "TRAIN-4", "no separate drafter is in force")
        if draft is None or target is None:
            return no_data(self.name, "TRAIN-4", "max_position_embeddings of drafter or target was not read")
        source = Source(where=f"{view.draft_path}/config.json", key="max_position_embeddings", quote=str(draft))
        if draft >= target:
            return silent(self.name, "TRAIN-4", f"drafter {draft} positions, target {target}", source)
        return (
            Observation(
                check=self.name,
                cause="TRAIN-4",
                stance="suggests",
                about="accept_length",
                claim=f"the drafter knows {draft} positions, the target {target}",
                sources=(source,),
                decided_by="load",
                decides="accept length by prompt length, below and above the drafter's limit",
                fix=f"use it for contexts up to {draft} tokens, or train it on longer ones",
            ),
        )


check = DraftContext()
