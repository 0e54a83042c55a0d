"""The weights of a folder on this machine, mapped into memory: a tensor costs memory only where it is used."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from specdoctor.app.checkpoint_reading import read_drafter
from specdoctor.app.model_files import ModelFiles
from specdoctor.core.errors import CheckpointError
from specdoctor.core.input_file import is_file, open_input
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.gguf import FIRST_BYTES, NeedMore, parse_gguf
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

    Raises CheckpointError for types that are not calculated with, and for a GGUF file that is no EAGLE-3 head.
    """
    from specdoctor.drafter.alone.arrays import viewed
    from specdoctor.drafter.alone.weights import Weights

    files: dict[str, memoryview] = {}
    begins: dict[str, int] = {}
    found = {}
    for name, tensor in checkpoint.tensors.items():
        if not wanted(name):
            continue
        place = checkpoint.tensor_files[name]
        if place not in files:
            files[place] = mapped(_file(checkpoint, place))
            begins[place] = _data_at(files[place], place, gguf=checkpoint.format == "gguf")
        raw = files[place][begins[place] + tensor.begin : begins[place] + tensor.end]
        found[name] = (viewed(raw, tensor.dtype, tensor.shape, f"{place}: {name}"), tensor.dtype)
    if checkpoint.format == "gguf":
        from specdoctor.drafter.alone.gguf_weights import as_before

        found = as_before(found, checkpoint.config, checkpoint.config_file)
    return Weights(where=checkpoint.folder, tensors=found)


def _file(checkpoint: Checkpoint, place: str) -> Path:
    """Where a file of a checkpoint lies, which may be that file itself."""
    path = Path(checkpoint.path)
    return path if is_file(path) else path / Path(place).name


def _data_at(raw: memoryview, place: str, *, gguf: bool) -> int:
    """Where the tensors begin, from which their places count."""
    if not gguf:
        return PREFIX_BYTES + int.from_bytes(raw[:PREFIX_BYTES], "little")
    length = FIRST_BYTES
    while True:
        try:
            return parse_gguf(bytes(raw[:length]), place).data_at
        except NeedMore:
            if length >= len(raw):
                raise CheckpointError(f"{place}: cut off in its header", next_step="fetch it again") from None
            length *= 4


def read_local(files: ModelFiles) -> Checkpoint:
    """A checkpoint of this machine with all its headers. Raises CheckpointError as `read_drafter` does."""
    return read_drafter(files)
