"""Do drafter and target count positions alike, and as far?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from specdoctor.core.hypothesis import ConfigEdit, Observation
from specdoctor.core.server import Source
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.pair import Pair, doubt, fault
from specdoctor.drafter.records.record import mappings


class Positions:
    """A head runs at the target's positions: beyond its table, or under another RoPE, acceptance falls with length."""

    name = "drafter-positions"
    summary = "Compare RoPE fields with the training's and the target's, and max_position_embeddings with the target's."
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
        trained = _trained_theta(draft)
        if trained is not None and _theta(draft.text) not in (None, trained[0]):
            theta, source = trained
            claim = f"served with rope_theta {_theta(draft.text):g}, trained with {theta:g}: it sees other positions"
            fix = f"write rope_theta {theta:g} in the drafter's config.json"
            edits = (ConfigEdit(key=_theta_path(draft), value=theta),)
            said = draft.said(_theta_key(draft))
            found.append(fault(self.name, "WIRE-6", claim, said, source, fix=fix, edits=edits))
            return tuple(found)
        alike = trained is None and draft.is_eagle3 and draft.format == target.format
        key = _differing(draft, target) if alike else ""
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
    mine, theirs = _theta(draft.text), _theta(target.text)
    if mine != theirs and None not in (mine, theirs):
        return _theta_key(draft)
    for key in ("rope_scaling", "partial_rotary_factor"):
        if (draft.text.get(key) or None) != (target.text.get(key) or None):
            return key
    return ""


def _theta(config: Mapping[str, Any]) -> float | None:
    nested = config.get("rope_parameters")
    value = config.get("rope_theta", nested.get("rope_theta") if isinstance(nested, Mapping) else None)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _theta_key(draft: Checkpoint) -> str:
    return "rope_theta" if "rope_theta" in draft.text else "rope_parameters"


def _theta_path(draft: Checkpoint) -> str:
    """Where the value stands, as a dotted key."""
    return "rope_theta" if _theta_key(draft) == "rope_theta" else "rope_parameters.rope_theta"


def _trained_theta(draft: Checkpoint) -> tuple[float, Source] | None:
    """The value in the draft config that the trainer left beside the drafter; None without one, or with several."""
    found: list[tuple[float, Source]] = []
    for where, text in draft.texts.items():
        if where == draft.config_file or not where.endswith(".json"):
            continue
        for path, part in mappings(_json(text)):
            theta = _theta(part)
            if theta is not None and (path.endswith("transformer_layer_config") or _is_head(part)):
                found.append((theta, Source(where=where, key="rope_theta", quote=f"{theta:g}")))
    return found[0] if len({theta for theta, _ in found}) == 1 else None


def _is_head(config: Mapping[str, Any]) -> bool:
    named = config.get("architectures")
    return isinstance(named, list) and any("eagle3" in str(name).lower() for name in named)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


check = Positions()
