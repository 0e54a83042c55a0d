"""Do drafter and target count positions alike, and as far?"""

from __future__ import annotations

from typing import Any

from specdoctor.core.hypothesis import Observation
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.pair import Pair, doubt


class Positions:
    """A head runs at the target's positions: beyond its table, or under another RoPE, acceptance falls with length."""

    name = "drafter-positions"
    summary = "Compare RoPE fields and max_position_embeddings of drafter and target."
    causes = ("TRAIN-4", "WIRE-6")

    def judge(self, pair: Pair) -> tuple[Observation, ...]:
        draft, target = pair.draft, pair.target
        found: list[Observation] = []
        mine, theirs = draft.whole("max_position_embeddings"), target.whole("max_position_embeddings")
        if mine is not None and theirs is not None and mine < theirs:
            sources = (draft.said("max_position_embeddings"), target.said("max_position_embeddings"))
            decides = f"accept length by prompt length, below and above {mine} tokens"
            claim = f"the drafter knows {mine} positions, the target {theirs}"
            found.append(doubt(self.name, "TRAIN-4", claim, *sources, decides=decides))
        key = _differing(draft, target) if draft.is_eagle3 and draft.format == target.format else ""
        if key:
            claim = f"{key} is {draft.text.get(key)} in the drafter and {target.text.get(key)} in the target"
            decides = "the value in the training's draft config: the drafter must be served with that one"
            sources = (draft.said(key), target.said(key))
            found.append(doubt(self.name, "WIRE-6", claim, *sources, decides=decides))
        return tuple(found)


def _differing(draft: Checkpoint, target: Checkpoint) -> str:
    """The first RoPE field in which they differ; empty for none, and where the attention is not of one kind."""
    if target.text.get("kv_lora_rank") and not draft.text.get("kv_lora_rank"):
        return ""
    if _theta(draft) != _theta(target) and None not in (_theta(draft), _theta(target)):
        return "rope_theta" if "rope_theta" in draft.text else "rope_parameters"
    for key in ("rope_scaling", "partial_rotary_factor"):
        if (draft.text.get(key) or None) != (target.text.get(key) or None):
            return key
    return ""


def _theta(one: Checkpoint) -> Any:
    nested = one.text.get("rope_parameters")
    value = one.text.get("rope_theta", nested.get("rope_theta") if isinstance(nested, dict) else None)
    return float(value) if isinstance(value, int | float) else None


check = Positions()
