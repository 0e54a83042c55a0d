"""Tensors of a file that torch.save wrote, without torch and without running anything in it.

Such a file is a zip archive of raw data and one pickle that says what is where. A pickle can call anything it names;
here its instructions are looked through first, and a file that names or does more than tensors need is refused.
"""

from __future__ import annotations

import collections
import pickle  # only behind the two fences below: its instructions read beforehand, and four names that may be called
import pickletools
import struct
import zipfile
import zlib
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.alone.arrays import viewed, widened

LARGEST_PICKLE = 4 << 20
_STORAGES = {
    "FloatStorage": "F32", "DoubleStorage": "F64", "HalfStorage": "F16", "BFloat16Storage": "BF16",
    "LongStorage": "I64", "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8",
    "BoolStorage": "BOOL",
}  # fmt: skip
_REBUILD = ("torch._utils", "_rebuild_tensor_v2")
_ORDERED = ("collections", "OrderedDict")
_REFUSED = frozenset(
    "INST OBJ NEWOBJ NEWOBJ_EX BUILD EXT1 EXT2 EXT4 PERSID NEXT_BUFFER READONLY_BUFFER BYTEARRAY8".split()
)
# What reading a damaged archive of zip raises in Python; RuntimeError covers encryption and endless nesting.
UNREADABLE = (
    zipfile.BadZipFile, KeyError, EOFError, OSError, ValueError, RuntimeError, OverflowError, MemoryError, struct.error,
    zlib.error,
)  # fmt: skip
NEXT = "convert it where it was made: torch.load(FILE, weights_only=True), then safetensors.torch.save_file"


class _Storage(NamedTuple):
    dtype: str
    key: str


def torch_arrays(file: IO[bytes], where: str) -> dict[str, Any]:
    """What torch.save stored: a mapping of names to arrays (float32 where bf16), lists and plain values.

    Raises CheckpointError for another kind of file, and for a pickle that asks for anything but tensors.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            return _read(archive, where)
    except UNREADABLE as error:
        raise CheckpointError(
            f"{where}: not a file that torch.save wrote in its zip format ({str(error)[:80] or type(error).__name__}); "
            "older formats are one pickle, and not opened",
            next_step=NEXT,
        ) from error


def _read(archive: zipfile.ZipFile, where: str) -> dict[str, Any]:
    names = [info for info in archive.infolist() if info.filename.endswith("/data.pkl")]
    if len(names) != 1:
        raise CheckpointError(f"{where}: a zip archive, but none of torch's (no data.pkl)", next_step=NEXT)
    if names[0].file_size > LARGEST_PICKLE:
        raise CheckpointError(
            f"{where}: its index is {names[0].file_size} bytes, more than {LARGEST_PICKLE}", next_step=NEXT
        )
    raw = archive.read(names[0])
    _look_through(raw, where)
    reader = _Unpickler(raw, archive, names[0].filename.removesuffix("data.pkl"), where)
    try:
        found = reader.load()
    except CheckpointError:
        raise
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{where}: a damaged index ({str(error)[:80]})", next_step=NEXT) from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{where}: it holds {type(found).__name__}, not tensors by name", next_step=NEXT)
    return {str(name): value for name, value in found.items()}


def _look_through(raw: bytes, where: str) -> None:
    """Refuse by the instructions alone. Raises CheckpointError naming what the pickle would call."""
    words: list[str] = []
    try:
        for code, argument, _ in pickletools.genops(raw):
            name = code.name
            if name in _REFUSED or (name.endswith("PUT") and isinstance(argument, int) and argument > 1 << 20):
                raise CheckpointError(f"{where}: its pickle has the instruction {name}: not opened", next_step=NEXT)
            if name == "GLOBAL":
                _allowed(*str(argument).split(" ", 1), where=where)
            elif name == "STACK_GLOBAL":
                _allowed(*(words[-2:] if len(words) > 1 else ("?", "?")), where=where)
            elif isinstance(argument, str):
                words.append(argument)
    except (ValueError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{where}: a damaged index ({str(error)[:80]})", next_step=NEXT) from error


def _allowed(module: str, name: str, *, where: str) -> None:
    if (module, name) in (_REBUILD, _ORDERED) or (module == "torch" and name in _STORAGES):
        return
    raise CheckpointError(
        f"{where}: its pickle asks for {module}.{name}, which no tensor needs: not opened", next_step=NEXT
    )


class _Unpickler(pickle.Unpickler):
    """The second fence: whatever it is asked to call is one of ours, or refused."""

    def __init__(self, raw: bytes, archive: zipfile.ZipFile, prefix: str, where: str) -> None:
        import io

        super().__init__(io.BytesIO(raw))
        self._archive, self._prefix, self._where = archive, prefix, where

    def find_class(self, module: str, name: str) -> Any:
        _allowed(module, name, where=self._where)
        if (module, name) == _REBUILD:
            return self._tensor
        return collections.OrderedDict if (module, name) == _ORDERED else _STORAGES[name]

    def persistent_load(self, pid: Any) -> _Storage:
        kind, dtype, key = pid[0], pid[1], pid[2]
        if kind != "storage" or not isinstance(dtype, str) or not isinstance(key, str):
            raise CheckpointError(f"{self._where}: a damaged index (storage {key!r})", next_step=NEXT)
        return _Storage(dtype=dtype, key=key)

    def _tensor(self, storage: _Storage, offset: int, shape: Any, stride: Any, *_: Any) -> NDArray[Any]:
        info = self._archive.getinfo(f"{self._prefix}data/{storage.key}")
        if info.compress_type != zipfile.ZIP_STORED:
            raise CheckpointError(f"{self._where}: its data are compressed, as torch does not do", next_step=NEXT)
        raw = self._archive.read(info)
        flat = viewed(raw, storage.dtype, (-1,), self._where)
        shape, stride = tuple(map(int, shape)), tuple(map(int, stride))
        last = offset + sum((extent - 1) * step for extent, step in zip(shape, stride, strict=True))
        if min((offset, *shape, *stride), default=0) < 0 or (np.prod(shape) > 0 and last >= len(flat)):
            raise CheckpointError(f"{self._where}: a tensor reaches beyond its data", next_step=NEXT)
        width = flat.dtype.itemsize
        view = np.lib.stride_tricks.as_strided(flat[offset:], shape, tuple(step * width for step in stride))
        return widened(view, storage.dtype) if storage.dtype == "BF16" else view.copy()
