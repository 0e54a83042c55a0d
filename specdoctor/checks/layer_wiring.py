"""Is the drafter fed the states it was trained on?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specdoctor.checks.reading import silent
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source
from specdoctor.drafter.comparison import DECIDES, compare
from specdoctor.drafter.in_scene import column_in_force, damaged, record_beside, target_shape


class LayerWiring:
    """Accept length never clears the wiring; only the training record decides, so without one it stays a rival."""

    name = "layer-wiring"
    summary = "Compare the target states a drafter was trained on with those that this engine version captures for it."
    causes = ("WIRE-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.spec is None or view.spec.family != "EAGLE3":
            return silent(self.name, "WIRE-1", "no drafter that reads several target states is in force")
        config: Mapping[str, Any] = view.draft_config or {}
        where = f"{view.draft_path}/config.json"
        if view.draft_config is None:
            return _undecided("the drafter's config.json was not read")
        damage = damaged(view)
        if damage:
            return _undecided(damage, Source(where=where))
        target = target_shape(view)
        if target is None:
            return _undecided("the target's config.json was not read", Source(where=where))
        found = compare(
            column_in_force(scene, target),
            config=config,
            config_file=where,
            target=target,
            record=record_beside(scene, target),
        )
        return tuple(_as_hypothesis(o) for o in found)


def _as_hypothesis(o: Observation) -> Observation:
    """A difference that was read is the prediction come true: states captured are not those of the training."""
    if o.stance != "supports":
        return o
    reading = Prediction(metric="reading", op="!=", subject="states captured", text="those of the training")
    return o.model_copy(update={"reading": reading})


def _undecided(said: str, *sources: Source) -> tuple[Observation, ...]:
    return (
        Observation(
            check=LayerWiring.name,
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
