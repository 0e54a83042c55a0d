"""Did the drafter inherit the target's quantisation?"""

from __future__ import annotations

from specdoctor.checks.reading import in_force, silent
from specdoctor.core.hypothesis import Observation, Remedy
from specdoctor.core.ports import Scene

FLAG = "--speculative-draft-model-quantization"


class DraftQuantisation:
    """Unless told otherwise the engine loads the drafter with the target's quantisation, silently."""

    name = "draft-quantisation"
    summary = "See whether the drafter was loaded with a quantisation that nobody asked for."
    causes = ("MIS-3",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        key = "speculative_draft_model_quantization"
        value = view.effective.get(key)
        if value in (None, "unquant") or key in view.asked:
            return silent(self.name, "MIS-3", f"{key} is {value}", in_force(view, key))
        own = (view.draft_config or {}).get("quantization_config")
        if own is not None:
            return silent(
                self.name, "MIS-3", f"the drafter's config carries a quantisation of its own; {key} is {value}"
            )
        return (
            Observation(
                check=self.name,
                cause="MIS-3",
                stance="suggests",
                about="accept_length",
                claim=f"the drafter inherits {key}={value} from the target; its checkpoint names none",
                sources=(in_force(view, key),),
                decided_by="restart",
                decides=f"accept length with {FLAG} unquant",
                remedy=Remedy(label="drafter unquantised", set_flags={FLAG: ("unquant",)}),
                fix=f"start with {FLAG} unquant",
            ),
        )


check = DraftQuantisation()
