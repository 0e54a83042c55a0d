"""Does the drafter's file hold the map of its reduced vocabulary, where no pair with a target was read?"""

from __future__ import annotations

import re

from pydantic import JsonValue

from specdoctor.checks.reading import no_data, silent, whole
from specdoctor.checks.saying import suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import ModelConfig, TensorList, TensorSeen
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.in_scene import pair_in
from specdoctor.drafter.safetensors import Tensor

_PART = re.compile(r"-\d{5}-of-\d{5}(?!.*index)")
_TARGET = re.compile(r"target|verifier")
DECIDES = (
    "list the tensors of the checkpoint that is served (`specdoctor wiring` reads the headers): d2t must have one "
    "entry for each draft token and not be all zero; accept length on one sentence repeated many times"
)
FIX = "export the map that training used (d2t: target id minus draft id, for each draft id) into the checkpoint"


class DrafterMap:
    """A reduced vocabulary needs d2t. A configuration and a list of tensors show that it is missing; whether this is
    the checkpoint that is served, and what it costs, they do not.
    """

    name = "drafter-map"
    summary = "Look for d2t in a drafter's list of tensors where its configuration alone was given beside it."
    causes = ("WIRE-3",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        spec = scene.view.spec
        if spec is not None and not spec.on:
            return silent(self.name, "WIRE-3", "no speculation is in force")
        if spec is not None and pair_in(scene) is not None:
            return silent(self.name, "WIRE-3", "drafter and target were read: they are judged as a pair")
        config = next((c for c in scene.material.configs if c.role == "draft"), None)
        listed = _own(scene.material.tensors, config.where if config is not None else "")
        if config is None or listed is None:
            return no_data(self.name, "WIRE-3", "no drafter's config.json beside a whole list of its tensors was given")
        target = next((c.content for c in scene.material.configs if c.role == "target"), {})
        claim, cited = _fault(config, listed, whole(_value(target, "vocab_size")))
        if not claim:
            return silent(self.name, "WIRE-3", f"{len(listed.tensors)} tensors, no map is missing among them")
        sources = (*cited, _said(scene, config, "draft_vocab_size"), _said(scene, config, "vocab_size"))
        found = suspected(self.name, "WIRE-3", claim, *(s for s in sources if s is not None), about="accept_length")
        return (found.model_copy(update={"decides": DECIDES, "decided_by": "read", "fix": FIX}),)


def _own(lists: tuple[TensorList, ...], config: str) -> TensorList | None:
    """The list beside the configuration, else the only one; a shard of a checkpoint is no list of its tensors."""
    folder = config.rpartition("/")[0]
    whole = [t for t in lists if t.tensors and not _PART.search(t.where) and not _TARGET.search(t.where.lower())]
    beside = [t for t in whole if t.where.rpartition("/")[0] == folder]
    found = beside or whole
    return found[0] if len(found) == 1 else None


def _fault(config: ModelConfig, listed: TensorList, target_vocabulary: int | None) -> tuple[str, tuple[Source, ...]]:
    """What is wrong with the map by names and shapes, and where; empty where nothing is, or nothing can be said."""
    draft = Checkpoint(
        folder=config.where,
        config_file=config.where,
        config=dict(config.content),
        tensors={t.name: Tensor(dtype=t.dtype, shape=t.shape) for t in listed.tensors},
        tensor_files=dict.fromkeys((t.name for t in listed.tensors), listed.where),
    )
    if not draft.is_eagle3 or not draft.has("fc.weight"):
        return "", ()
    seen = {t.name: t for t in listed.tensors}
    vocabulary, head = target_vocabulary or draft.whole("vocab_size"), draft.tensor("lm_head.weight", "output.weight")
    rows = head[1].shape[0] if head is not None and len(head[1].shape) == 2 else None
    drafted = draft.whole("draft_vocab_size") or rows
    if vocabulary is None or drafted is None or drafted >= vocabulary:
        return "", ()
    reduced = f"draft_vocab_size {drafted} of vocab_size {vocabulary}"
    found = draft.tensor("d2t")
    if found is None:
        claim = f"{reduced}, and no d2t among the {len(seen)} tensors listed: draft ids would be taken as target ids"
        return claim, (draft.listed(),)
    name, tensor = found
    if _sized(seen[name]) and tensor.shape != (drafted,):
        return f"{reduced}, and d2t has shape {list(tensor.shape)} where [{drafted}] is needed", (seen[name].source,)
    other = draft.tensor("t2d")
    if other is not None and _sized(seen[other[0]]) and other[1].shape != (vocabulary,):
        claim = (
            f"{reduced}, and t2d has shape {list(other[1].shape)} where [{vocabulary}] is usual: engines read d2t "
            "alone, but both are of one export"
        )
        return claim, (seen[other[0]].source,)
    return "", ()


def _sized(tensor: TensorSeen) -> bool:
    """Whether its shape was given: a name alone has none."""
    return bool(tensor.dtype or tensor.shape)


def _said(scene: Scene, config: ModelConfig, key: str) -> Source | None:
    """The line of a key in the configuration as it was given."""
    lines = scene.material.texts.get(config.where, "").split("\n")
    number = next((n for n, line in enumerate(lines, start=1) if f'"{key}"' in line), None)
    value = _value(config.content, key)
    if number is None or value is None:
        return None
    return Source(where=config.where, line=number, key=key, quote=str(value))


def _value(content: dict[str, JsonValue], key: str) -> JsonValue:
    inner = next((c for k in ("transformer_layer_config", "text_config") if isinstance(c := content.get(k), dict)), {})
    return content.get(key, inner.get(key))


check = DrafterMap()
