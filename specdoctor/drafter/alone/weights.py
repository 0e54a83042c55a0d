"""Weights of a checkpoint by name, each of the shape that its configuration speaks of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.alone.arrays import Floats, Table, widened
from specdoctor.drafter.config_numbers import number_fault

PREFIXES = ("", "model.")


@dataclass(frozen=True)
class Weights:
    """Tensors as they lie in their files, with their types. `where` names the folder in messages.

    A name is taken bare or after `model.`, as the engines' loaders do; whatever is called otherwise is not found.
    """

    where: str
    tensors: Mapping[str, tuple[NDArray[Any], str]]

    def find(self, *names: str) -> tuple[NDArray[Any], str] | None:
        for name in names:
            for prefix in PREFIXES:
                if prefix + name in self.tensors:
                    return self.tensors[prefix + name]
        return None

    def has(self, *names: str) -> bool:
        return self.find(*names) is not None

    def maybe(self, *names: str) -> Floats | None:
        """A tensor in float32; None where it is not there."""
        found = self.find(*names)
        return None if found is None else widened(*found)

    def need(self, *names: str) -> Floats:
        """A tensor in float32. Raises CheckpointError when the checkpoint lacks it."""
        found = self.maybe(*names)
        if found is None:
            raise CheckpointError(
                f"{self.where}: it has no tensor {names[0]}",
                next_step="check it with specdoctor wiring, which lists what is missing and what is called otherwise",
            )
        return found

    def shaped(self, shape: tuple[int | None, ...], *names: str) -> Floats:
        """A tensor of this shape (None: any extent). Raises CheckpointError when it is missing or of another one."""
        found = self.need(*names)
        if len(found.shape) != len(shape) or any(w not in (None, h) for w, h in zip(shape, found.shape, strict=True)):
            wanted = ", ".join("any" if extent is None else str(extent) for extent in shape)
            raise CheckpointError(
                f"{self.where}: {names[0]} is {list(found.shape)}, by config.json it should be [{wanted}]",
                next_step="the configuration is that of another checkpoint, or a file is damaged",
            )
        return found

    def table(self, *names: str) -> Table | None:
        """Rows of a matrix; None where it is not there. Raises CheckpointError for what is no matrix."""
        found = self.find(*names)
        if found is not None and found[0].ndim != 2:
            raise CheckpointError(
                f"{self.where}: {names[0]} is {list(found[0].shape)}, not rows of numbers", next_step="re-export it"
            )
        return None if found is None else Table(*found)


def size(config: Mapping[str, Any], key: str, where: str, *, default: int | None = None) -> int:
    """A positive whole number of a configuration. Raises CheckpointError for anything else."""
    value = config.get(key, default)
    if value is None and default is not None:
        return default
    fault = number_fault(key, value) if value is not None else f"it has no usable {key}"
    if fault:
        raise CheckpointError(f"{where}: config.json: {fault}", next_step="repair its config.json")
    return int(value)
