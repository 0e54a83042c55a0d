"""vLLM's speculators: its config.json is the record; an id is a layer's input, none means the default."""

from __future__ import annotations

from collections.abc import Mapping

from specdoctor.drafter.capture import at_key, id_list
from specdoctor.drafter.records.record import Document, TrainingRecord, from_entries, source

KEY = "eagle_aux_hidden_state_layer_ids"


def read(document: Document) -> TrainingRecord | None:
    """The states of a config.json in the speculators format."""
    data = document.data
    if not isinstance(data, Mapping) or str(data.get("speculators_model_type", "")).lower() != "eagle3":
        return None
    ids = id_list(data.get(KEY))
    key = KEY
    if ids is None:
        if document.target is None:
            return None
        ids, key = (2, document.target.layers // 2, document.target.layers - 3), "speculators_model_type"
    states, doubt = from_entries(tuple(sorted(set(ids))), document.target)
    verifier = at_key(data, "speculators_config.verifier.name_or_path")
    return TrainingRecord(
        form="speculators config" + ("" if key == KEY else " without ids: its default"),
        where=document.where,
        states=states,
        convention="id i is the input of layer i, in ascending order",
        sources=(source(document, key, ids if key == KEY else "eagle3"),),
        target=str(verifier) if verifier else None,
        doubt=doubt,
    )
