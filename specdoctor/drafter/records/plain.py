"""A record written for specdoctor, or by hand: `trained_on: [embed, out(2), out(30)]`."""

from __future__ import annotations

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.records.record import Document, TrainingRecord, from_entries, mappings, source
from specdoctor.drafter.states import entry_of

KEY = "trained_on"


def read(document: Document) -> TrainingRecord | None:
    """The states under `trained_on`. Raises CheckpointError for a word that names no state."""
    for path, found in mappings(document.data):
        listed = found.get(KEY)
        if not isinstance(listed, list) or not listed:
            continue
        key = f"{path}.{KEY}" if path else KEY
        try:
            entries = tuple(entry_of(str(item)) for item in listed)
        except ValueError as error:
            raise CheckpointError(f"{document.where}: {key}: {error}", next_step="name each state so") from error
        states, doubt = from_entries(entries, document.target)
        target, samples = found.get("target"), found.get("samples")
        return TrainingRecord(
            form="states by name",
            where=document.where,
            states=states,
            convention="states written by name",
            sources=(source(document, key, [str(item) for item in listed]),),
            target=str(target) if target else None,
            samples=samples if isinstance(samples, int) else None,
            doubt=doubt,
        )
    return None
