"""Which readers are tried, and what is looked into: the forms of record in the order in which they count."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.capture import TargetShape
from specdoctor.drafter.records import eagle_reference, hidden_states, plain, specforge, speculators
from specdoctor.drafter.records.record import Document, Reader, TrainingRecord

READERS: tuple[Reader, ...] = (
    plain.read,
    specforge.read,
    speculators.read,
    hidden_states.read,
    eagle_reference.read,
)
FORMS = (
    "SpecForge run file or provenance, speculators config.json, a hidden_states dump's run file or script, the EAGLE "
    "reference's modeling source, or a file with trained_on: [out(1), ...]"
)
SUFFIXES = (".yaml", ".yml", ".json", ".py")
LARGEST_BYTES = 256 * 1024


def read_record(
    text: str, where: str, *, draft_config: Mapping[str, Any], target: TargetShape | None, strict: bool
) -> TrainingRecord | None:
    """The record in one file; None when it holds none. With `strict` one that does not parse is a CheckpointError."""
    document = Document(
        where=where, text=text, data=_data(text, where, strict), draft_config=draft_config, target=target
    )
    for reader in READERS:
        if (record := reader(document)) is not None:
            return record
    return None


def found_record(
    texts: Mapping[str, str], *, draft_config: Mapping[str, Any], target: TargetShape | None
) -> TrainingRecord | None:
    """The record among files that lie with a drafter; one that another contradicts says so as its doubt."""
    found: list[TrainingRecord] = []
    for where, text in texts.items():
        record = read_record(text, where, draft_config=draft_config, target=target, strict=False)
        found += [record] if record is not None else []
    return _agreed(found)


def _agreed(found: Sequence[TrainingRecord]) -> TrainingRecord | None:
    if not found:
        return None
    best = next((record for record in found if not record.doubt), found[0])
    against = next((r for r in found if r.states != best.states and not r.doubt), None)
    if against is None:
        return best
    doubt = f"{against.where} says otherwise: {', '.join(against.states)}"
    return best.model_copy(update={"doubt": doubt, "sources": (*best.sources, *against.sources)})


def _data(text: str, where: str, strict: bool) -> Any:
    """What YAML or JSON says; None for source text, and for what does not parse unless `strict`."""
    name = where.rsplit("/", 1)[-1]
    if name.endswith(".py"):
        return None
    try:
        if name.endswith(".json"):
            return json.loads(text)
        return _yaml(text)
    except (ValueError, RecursionError) as error:
        if strict:
            said = str(error).strip().replace("\n", " ")[:200] or type(error).__name__
            raise CheckpointError(
                f"{where}: neither YAML nor JSON: {said}", next_step=f"--training takes one of: {FORMS}"
            ) from error
        return {}


def _yaml(text: str) -> Any:
    """A YAML document of plain values: tags that would build objects are refused by the safe loader."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe").load(text)
    except YAMLError as error:
        raise ValueError(str(error)) from error
