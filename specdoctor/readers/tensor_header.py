"""The tensors of a checkpoint as JSON: a safetensors header, or the index of a checkpoint in several files."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import JsonValue

from specdoctor.core.material import Material, TensorList, TensorSeen
from specdoctor.core.reader import Reading
from specdoctor.core.server import Source
from specdoctor.readers.json_file import line_of, object_of


class _Reader(NamedTuple):
    name: str = "tensor_header"
    summary: str = "a safetensors header or model.safetensors.index.json"
    rank: int = 10

    def read(self, text: str, *, where: str) -> Reading | None:
        found = object_of(text)
        if found is None:
            return None
        index = found.get("weight_map")
        entries: dict[str, JsonValue] = index if isinstance(index, dict) else _header(found)
        if not entries:
            return None
        lines = text.count("\n") > len(entries) // 2
        tensors = tuple(
            TensorSeen(
                name=name,
                dtype=_dtype(entry),
                shape=_shape(entry),
                source=Source(where=where, line=line_of(text, f'"{name}"') if lines and len(entries) < 2000 else None,
                              key=name, quote=f'"{name}"'),
            )
            for name, entry in entries.items()
        )  # fmt: skip
        return Reading(kind="tensor list", pieces=Material(tensors=(TensorList(where=where, tensors=tensors),)))


def _header(found: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The entries of a safetensors header, empty for any other object."""
    entries = {name: entry for name, entry in found.items() if name != "__metadata__"}
    sound = all(isinstance(entry, dict) and "dtype" in entry and "shape" in entry for entry in entries.values())
    return entries if entries and sound else {}


def _dtype(entry: JsonValue) -> str:
    return str(entry.get("dtype", "")) if isinstance(entry, dict) else ""


def _shape(entry: JsonValue) -> tuple[int, ...]:
    sizes = entry.get("shape") if isinstance(entry, dict) else None
    return tuple(s for s in sizes if isinstance(s, int)) if isinstance(sizes, list) else ()


reader = _Reader()
