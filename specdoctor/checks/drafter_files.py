"""Is the checkpoint of the drafter whole, and does this engine version read it as it was made?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specdoctor.checks.reading import no_data, silent
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ports import Scene
from specdoctor.drafter.every import every_check
from specdoctor.drafter.in_scene import damaged, pair_in

ASKED_ELSEWHERE = frozenset({"TRAIN-4", "CFG-2"})
"""What checks of the running server ask of the same files."""


class DrafterFiles:
    """Whatever an engine does not find in a drafter, or finds and does not read, costs acceptance silently."""

    name = "drafter-files"
    summary = "Look into the drafter's checkpoint: tensors, vocabulary map, norms, options, RoPE, precision, template."
    causes = tuple(sorted({cause for check in every_check() for cause in check.causes} - ASKED_ELSEWHERE))

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.spec is None or not view.spec.on or view.draft_path in (None, view.model_path):
            return silent(self.name, None, "no separate drafter is in force")
        pair = pair_in(scene)
        if pair is None:
            return no_data(self.name, None, damaged(view) or "config.json of drafter or target was not read")
        said = [o for check in every_check() for o in check.judge(pair)]
        found = [self._as_hypothesis(o) for o in said if o.cause not in ASKED_ELSEWHERE]
        if found:
            return tuple(found)
        if not pair.draft.tensors:
            return no_data(self.name, None, "the headers of the drafter's weights were not read")
        return silent(self.name, None, f"{len(pair.draft.tensors)} tensors, nothing in them needs repair")

    def _as_hypothesis(self, o: Observation) -> Observation:
        """A fault that was read is the prediction come true: the files are not as this engine needs them."""
        changes: Mapping[str, Any] = {"check": self.name}
        if o.stance == "supports":
            subject = f"drafter's files by {o.check}"
            changes = {**changes, "reading": Prediction(metric="reading", op="!=", subject=subject, text="as needed")}
        return o.model_copy(update=changes)


check = DrafterFiles()
