"""States dumped from transformers: indices into its `hidden_states` tuple, in a run file or in the dump script.

Index 0 of the tuple is the embedding, index k the output of layer k-1; the last one is taken after the last norm.
"""

from __future__ import annotations

import re

from specdoctor.core.server import Source
from specdoctor.drafter.capture import id_list
from specdoctor.drafter.records.record import Document, TrainingRecord, from_entries, mappings, source

KEYS = ("hidden_states", "hidden_state_indices", "hidden_states_indices")
ORDER = "concat"
CONVENTION = "indices of transformers' hidden_states: 0 is the embedding, k the output of layer k-1"
_ASKED = re.compile(r"output_hidden_states\s*=\s*True")
_PICKED = re.compile(r"\bhidden_states\[\s*(\d{1,4})\s*\]")


def read(document: Document) -> TrainingRecord | None:
    """The indices of a run file, or those that a script picks one by one."""
    if document.data is None:
        return _script(document)
    for path, found in mappings(document.data):
        for name in KEYS:
            ids = id_list(found.get(name))
            if ids is None:
                continue
            order = id_list(found.get(ORDER))
            key = f"{path}.{name}" if path else name
            if order is not None and set(order) <= set(ids):
                ids, key = order, f"{path}.{ORDER}" if path else ORDER
            return _record(document, "run file of a hidden_states dump", ids, source(document, key, ids))
    return None


def _script(document: Document) -> TrainingRecord | None:
    if not _ASKED.search(document.text):
        return None
    picked = [(int(match[1]), match.start()) for match in _PICKED.finditer(document.text)]
    ids = tuple(dict.fromkeys(number for number, _ in picked))
    if len(ids) < 2:
        return None
    line = document.text.count("\n", 0, picked[0][1]) + 1
    quote = document.text.split("\n")[line - 1].strip()
    return _record(document, "dump script", ids, Source(where=document.where, line=line, quote=quote))


def _record(document: Document, form: str, ids: tuple[int, ...], cited: Source) -> TrainingRecord:
    states, doubt = from_entries(ids, document.target)
    if not doubt and document.target is not None and document.target.layers in ids:
        doubt = "the last index of hidden_states is taken after the last norm, which no engine captures"
    return TrainingRecord(
        form=form,
        where=document.where,
        states=states,
        convention=CONVENTION,
        sources=(cited,),
        doubt=doubt,
    )
