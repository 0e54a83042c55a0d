"""Is the drafter's precision what its configuration says?"""

from __future__ import annotations

from specdoctor.core.hypothesis import ConfigEdit, Observation
from specdoctor.drafter.pair import Pair, doubt, fault

_FLOATS = ("BF16", "F16", "F32")


class Quantisation:
    """A quantisation copied from the target's configuration makes plain weights be read as something else."""

    name = "drafter-quantisation"
    summary = "Compare the drafter's quantisation_config with the types of its tensors."
    causes = ("MIS-3",)

    def judge(self, pair: Pair) -> tuple[Observation, ...]:
        draft = pair.draft
        kinds = {t.dtype for name, t in draft.tensors.items() if name.endswith(("_proj.weight", "fc.weight"))}
        config = draft.config.get("quantization_config")
        if not kinds or draft.format == "gguf":
            return ()
        plain = kinds <= set(_FLOATS)
        if config is not None and plain:
            theirs = pair.target.text.get("quantization_config")
            copied = ", the same as the target's" if config == theirs else ""
            claim = (
                f"quantization_config names a quantisation{copied}, and the projections are {', '.join(sorted(kinds))}"
            )
            fix = "take quantization_config out of the drafter's config.json"
            edits = (ConfigEdit(key="quantization_config"),)
            return (fault(self.name, "MIS-3", claim, draft.said("quantization_config"), fix=fix, edits=edits),)
        if config is None and not plain:
            claim = f"the projections are {', '.join(sorted(kinds))}, and no quantization_config says how to read them"
            decides = "the loader's messages at start, or the trainer's export settings"
            name = next(n for n, t in draft.tensors.items() if t.dtype not in _FLOATS and n.endswith(".weight"))
            return (doubt(self.name, "MIS-3", claim, draft.shown_tensor(name), decides=decides),)
        return ()


check = Quantisation()
