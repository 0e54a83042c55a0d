"""The weights of a folder on this machine, mapped into memory: a tensor costs memory only where it is used."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from specdoctor.app.checkpoint_reading import read_drafter
from specdoctor.app.model_files import ModelFiles
from specdoctor.core.errors import CheckpointError
from specdoctor.core.input_file import open_input
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.safetensors import PREFIX_BYTES

if TYPE_CHECKING:
    from specdoctor.drafter.alone.weights import Weights

Wanted = Callable[[str], bool]


def mapped(path: Path) -> memoryview:
    """A file's bytes without reading them. Raises CheckpointError when it cannot be opened or is empty."""
    try:
        with open_input(path, pipes=False) as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}", next_step="check the path and its rights") from error


def weights_of(checkpoint: Checkpoint, *, wanted: Wanted = lambda name: True) -> Weights:
    """The tensors of a checkpoint read by its headers (`read_drafter`), of a folder on this machine.

    Raises CheckpointError for a GGUF file and for types that are not calculated with.
    """
    from specdoctor.drafter.alone.arrays import viewed
    from specdoctor.drafter.alone.weights import Weights

    if checkpoint.format == "gguf":
        raise CheckpointError(
            f"{checkpoint.config_file}: the weights of a GGUF file are not calculated with",
            next_step="give the folder it was made from (config.json and .safetensors)",
        )
    files: dict[str, memoryview] = {}
    found = {}
    for name, tensor in checkpoint.tensors.items():
        if not wanted(name):
            continue
        place = checkpoint.tensor_files[name]
        if place not in files:
            files[place] = mapped(Path(checkpoint.path) / Path(place).name)
        begin = PREFIX_BYTES + int.from_bytes(files[place][:PREFIX_BYTES], "little")
        raw = files[place][begin + tensor.begin : begin + tensor.end]
        found[name] = (viewed(raw, tensor.dtype, tensor.shape, f"{place}: {name}"), tensor.dtype)
    return Weights(where=checkpoint.folder, tensors=found)


def read_local(files: ModelFiles) -> Checkpoint:
    """A checkpoint of this machine with all its headers. Raises CheckpointError as `read_drafter` does."""
    return read_drafter(files)
