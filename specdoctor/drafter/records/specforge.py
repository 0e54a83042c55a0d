"""SpecForge: its run file and the provenance of its checkpoints; an id v is out(v), captured by SGLang's own hook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specdoctor.drafter.capture import at_key, id_list
from specdoctor.drafter.records.record import Document, TrainingRecord, from_entries, mappings, source
from specdoctor.drafter.rules.sglang import KEY as DRAFT_KEY
from specdoctor.drafter.rules.sglang import engine as sglang

OVERRIDE = "aux_hidden_state_layer_ids"
PROVENANCE = "capture_layers"
_RUN_KEYS = {"target_model_path", "draft_model_config", "vocab_mapping_path", "load_target_embedding"}


def read(document: Document) -> TrainingRecord | None:
    """The layers of a provenance file, or of a run file: its override, else the draft config's, else the default."""
    for path, found in mappings(document.data):
        ids = id_list(found.get(PROVENANCE))
        if ids is not None:
            key = f"{path}.{PROVENANCE}" if path else PROVENANCE
            return _record(document, "SpecForge provenance", key, ids, found)
    model = document.data.get("model") if isinstance(document.data, Mapping) else None
    if not isinstance(model, Mapping) or not (_RUN_KEYS & set(model) or OVERRIDE in model):
        return None
    ids = id_list(model.get(OVERRIDE))
    if ids is not None:
        return _record(document, "SpecForge run file", f"model.{OVERRIDE}", ids, model)
    ids = id_list(at_key(document.draft_config, DRAFT_KEY))
    if ids is not None:
        return _record(document, "SpecForge run file without an override: the draft config's ids", "model", ids, model)
    if document.target is None:
        return None
    layers = document.target.layers
    default = (1, layers // 2 - 1, layers - 4)
    return _record(document, "SpecForge run file without ids: its default", "model", default, model)


def _record(document: Document, form: str, key: str, ids: tuple[int, ...], found: Mapping[str, Any]) -> TrainingRecord:
    states, doubt = from_entries(tuple(sorted({v + 1 for v in ids})), document.target)
    if not doubt and ids[0] != 1 and document.target is not None and _by_version(document):
        doubt = (
            "for this target the state that an id means depends on the SGLang that captured for the training: "
            "out(id) up to 0.5.12, the input of layer id since 0.5.13"
        )
    target = found.get("target_model_path") or found.get("target_model")
    return TrainingRecord(
        form=form,
        where=document.where,
        states=states,
        convention="id v is out(v), in ascending order",
        sources=(source(document, key, ids if key != "model" else "model"),),
        target=str(target) if target else None,
        doubt=doubt,
    )


def _by_version(document: Document) -> bool:
    """Whether SGLang's own versions disagree about this target."""
    names = document.target.names if document.target else frozenset()
    return any(
        (family.architectures | family.model_types) & names
        for rule in sglang.rules
        for family in rule.families
        if family.convention is not None and family.convention.unless == "first id is not 1"
    )
