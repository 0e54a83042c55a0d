"""A training record, and what its readers are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from specdoctor.core.model import Frozen
from specdoctor.core.server import Source
from specdoctor.drafter.capture import TargetShape
from specdoctor.drafter.states import at_entries

MOST_DEEP = 6


class TrainingRecord(Frozen):
    """Which states a drafter was trained on, in the order of its input. `doubt` says why that may not hold."""

    form: str
    where: str
    states: tuple[str, ...]
    convention: str
    sources: tuple[Source, ...] = ()
    target: str | None = None
    samples: int | None = None
    doubt: str = ""


@dataclass(frozen=True)
class Document:
    """One file that may hold a record. `data` is what its YAML or JSON says, None for source text."""

    where: str
    text: str
    data: Any
    draft_config: Mapping[str, Any]
    target: TargetShape | None


Reader = Callable[[Document], TrainingRecord | None]


def mappings(data: Any, *, path: str = "", depth: int = 0) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every mapping in a document with its dotted path, the outermost first."""
    if depth > MOST_DEEP:
        return
    if isinstance(data, Mapping):
        yield path, data
        for key, value in data.items():
            yield from mappings(value, path=f"{path}.{key}" if path else str(key), depth=depth + 1)


def source(document: Document, key: str, ids: object) -> Source:
    """The words of a document that a record rests on."""
    quote = "[" + ", ".join(map(str, ids)) + "]" if isinstance(ids, tuple | list) else str(ids)
    return Source(where=document.where, key=key, quote=quote)


def from_entries(entries: tuple[int, ...], target: TargetShape | None) -> tuple[tuple[str, ...], str]:
    """States at these entries, with a doubt where an entry is none of the target's."""
    known = tuple(entry for entry in entries if entry >= 0)
    doubt = "" if len(known) == len(entries) else f"entries {list(entries)} name states that do not exist"
    if target is not None and any(entry > target.layers for entry in known):
        doubt = f"it names states beyond the target's {target.layers} layers: another target?"
    return at_entries(known), doubt
