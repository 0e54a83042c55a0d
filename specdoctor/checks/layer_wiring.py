"""Is the drafter fed the states it was trained on?"""

from __future__ import annotations

from specdoctor.checks.reading import silent
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

DECIDES = "compare the states it was trained on (training config or provenance) with those this engine version captures"


class LayerWiring:
    """Accept length never clears the wiring; only the training record decides, so without one it stays a rival."""

    name = "layer-wiring"
    summary = "See which target states the drafter's config names, and whether anything says what it was trained on."
    causes = ("WIRE-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.spec is None or view.spec.algorithm != "EAGLE3":
            return silent(self.name, "WIRE-1", "no drafter that reads several target states is in force")
        config = view.draft_config or {}
        nested = config.get("eagle_config")
        ids = nested.get("eagle_aux_hidden_state_layer_ids") if isinstance(nested, dict) else None
        top = config.get("eagle_aux_hidden_state_layer_ids")
        where = f"{view.draft_path}/config.json"
        sources: tuple[Source, ...] = ()
        if view.draft_config is None:
            said = "the drafter's config.json was not read"
        elif ids is not None:
            said = f"the drafter's config names layer ids {ids}; nothing read says which states it was trained on"
            sources = (Source(where=where, key="eagle_config.eagle_aux_hidden_state_layer_ids", quote=str(ids)),)
        elif top is not None:
            said = f"layer ids {top} stand at the top level only, where the engine does not look; its defaults are used"
            sources = (Source(where=where, key="eagle_aux_hidden_state_layer_ids", quote=str(top)),)
        else:
            said = "the drafter's config names no layer ids: the engine uses its defaults"
        return (
            Observation(
                check=self.name,
                cause="WIRE-1",
                stance="suggests",
                about="accept_length",
                claim=said,
                sources=sources,
                decides=DECIDES,
                decided_by="read",
            ),
        )


check = LayerWiring()
