"""Does the engine know the options that the drafter was built with?"""

from __future__ import annotations

from specdoctor.core.hypothesis import Observation
from specdoctor.drafter.capture import at_key
from specdoctor.drafter.pair import Pair, fault

_SGLANG_SINCE = {
    "fc_norm": (0, 5, 12),
    "norm_output": (0, 5, 12),
    "norm_before_fc": (0, 5, 18),
}


class Options:
    """An option that a version does not know is ignored, with the tensors that belong to it, silently."""

    name = "drafter-options"
    summary = (
        "Compare norm_before_residual, norm_before_fc, fc_norm and norm_output with what the engine version knows."
    )
    causes = ("WIRE-2",)

    def judge(self, pair: Pair) -> tuple[Observation, ...]:
        draft = pair.draft
        if not draft.is_eagle3:
            return ()
        found: list[Observation] = []
        for option in (*_SGLANG_SINCE, "norm_before_residual"):
            key = option if draft.text.get(option) is True else f"eagle_config.{option}"
            if draft.text.get(option) is not True and at_key(draft.config, key) is not True:
                continue
            why = self._ignored(pair, option)
            if why:
                claim = f"{option} is true, and {why}"
                found.append(fault(self.name, "WIRE-2", claim, draft.said(key), fix=_fix(option)))
        norm = draft.tensor("input_norm.weight")
        says = draft.text.get("norm_before_fc") or at_key(draft.config, "eagle_config.norm_before_fc")
        if norm is not None and not says:
            claim = "the file has input_norm and the configuration does not set norm_before_fc: the norm is dropped"
            source = draft.shown_tensor(norm[0])
            found.append(fault(self.name, "WIRE-2", claim, source, fix="set norm_before_fc true"))
        return tuple(found)

    def _ignored(self, pair: Pair, option: str) -> str:
        """Why the engine does not do it; empty where it does, or nobody said which engine."""
        if pair.engine != "sglang":
            return ""
        since = _SGLANG_SINCE.get(option)
        if since is None:
            return "SGLang does not have it: the residual is always taken before the norm"
        if pair.release and pair.release < since:
            return f"SGLang knows it since {'.'.join(map(str, since))}"
        return ""


def _fix(option: str) -> str:
    since = _SGLANG_SINCE.get(option)
    return f"SGLang {'.'.join(map(str, since))} or later" if since else "serve it with vLLM, or train it without"


check = Options()
