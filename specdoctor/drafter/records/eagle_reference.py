"""The EAGLE reference: no file of its names layers; the target's source does, where it appends a state."""

from __future__ import annotations

import re

from specdoctor.core.server import Source
from specdoctor.drafter.records.record import Document, TrainingRecord, from_entries

_APPENDS = re.compile(r"if\s+(?P<tests>[^\n:]*\bidx\s*==[^\n:]*):\s*\n\s*all_hidden_states\s*\+=")
_TEST = re.compile(r"idx\s*==\s*(?:(?P<fixed>\d+)|len\(self\.layers\)\s*(?://\s*(?P<share>\d+)|-\s*(?P<back>\d+)))")


def read(document: Document) -> TrainingRecord | None:
    """The layers at whose entry the reference's target model (`modeling_*_kv.py`) keeps the state."""
    if document.data is not None or document.target is None:
        return None
    match = _APPENDS.search(document.text)
    if match is None:
        return None
    layers = document.target.layers
    entries: set[int] = set()
    for test in _TEST.finditer(match["tests"]):
        if test["fixed"]:
            entries.add(int(test["fixed"]))
        else:
            entries.add(layers // max(int(test["share"]), 1) if test["share"] else layers - int(test["back"]))
    if not entries:
        return None
    states, doubt = from_entries(tuple(sorted(entries)), document.target)
    line = document.text.count("\n", 0, match.start()) + 1
    return TrainingRecord(
        form="EAGLE reference, source of the target model",
        where=document.where,
        states=states,
        convention="the state is kept before layer idx runs, in ascending order",
        sources=(Source(where=document.where, line=line, quote=match[0].split("\n")[0].strip()),),
        doubt=doubt,
    )
