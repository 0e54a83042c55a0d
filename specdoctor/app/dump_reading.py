"""Stored states from files of this machine: safetensors, .npz and torch.save files, one or a folder of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specdoctor.app.local_weights import mapped
from specdoctor.core.errors import CheckpointError
from specdoctor.core.input_file import is_file, is_folder, is_there, open_input
from specdoctor.drafter.safetensors import PREFIX_BYTES, header_length, parse_header

if TYPE_CHECKING:
    from specdoctor.drafter.dumps.dump import Dump

MOST_FILES = 64


def read_dumps(path: Path, *, names: Sequence[str], most: int = MOST_FILES) -> tuple[Dump, ...]:
    """All sequences at a path, of a folder those of its first `most` files (folders below it included).

    Raises CheckpointError for what is missing, damaged or of no known layout.
    """
    from specdoctor.drafter.dumps.dump import LAYOUTS, Stored
    from specdoctor.drafter.dumps.table import SUFFIXES, read_dump

    if is_folder(path):
        files = sorted((p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file()), key=_natural)[:most]
        if not files:
            raise CheckpointError(f"{path}: there are no stored states in it", next_step=LAYOUTS)
    else:
        files = [path]
    return tuple(read_dump(Stored(where=str(file), arrays=_arrays(file), names=names)) for file in files)


def _natural(path: Path) -> tuple[int, str]:
    digits = "".join(letter for letter in path.stem if letter.isdigit())
    return int(digits or 0), str(path)


def _arrays(path: Path) -> dict[str, Any]:
    if not is_there(path):
        raise CheckpointError(f"{path}: there is no such file", next_step="name the stored states, or their folder")
    if not is_file(path):
        raise CheckpointError(f"{path}: not a regular file: not read", next_step="name the stored states")
    if path.suffix == ".safetensors":
        return _safetensors(path)
    if path.suffix == ".npz":
        return _npz(path)
    if path.suffix in (".pt", ".ckpt"):
        from specdoctor.drafter.dumps.torch_file import torch_arrays

        try:
            with open_input(path, pipes=False) as file:
                return torch_arrays(file, str(path))
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be read: {error}", next_step="check its rights") from error
    raise CheckpointError(
        f"{path}: a file of this kind is not read", next_step="give .safetensors, .npz, .pt or .ckpt, or their folder"
    )


def _safetensors(path: Path) -> dict[str, Any]:
    from specdoctor.drafter.alone.arrays import viewed, widened

    raw = mapped(path)
    length = header_length(bytes(raw[:PREFIX_BYTES]), str(path))
    body = raw[PREFIX_BYTES + length :]
    header = bytes(raw[PREFIX_BYTES : PREFIX_BYTES + length])
    tensors = parse_header(header, str(path), length=length, data_bytes=len(body))
    found = {}
    for name, tensor in tensors.items():
        array = viewed(body[tensor.begin : tensor.end], tensor.dtype, tensor.shape, f"{path}: {name}")
        found[name] = widened(array, tensor.dtype) if tensor.dtype == "BF16" else array
    return found


def _npz(path: Path) -> dict[str, Any]:
    import numpy as np

    from specdoctor.drafter.dumps.torch_file import UNREADABLE

    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except UNREADABLE as error:
        said = str(error).split("\n", 1)[0][:120]
        raise CheckpointError(
            f"{path}: not a plain .npz of arrays: {said}; arrays of objects are pickled, and not opened",
            next_step="store numbers only: numpy.savez(FILE, tokens=..., ...)",
        ) from error
