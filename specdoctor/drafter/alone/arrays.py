"""Arrays as these calculations use them, and tensors of a file turned into them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from specdoctor.core.errors import CheckpointError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_PLAIN = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
    "U16": "<u2", "U32": "<u4", "U64": "<u8", "BOOL": "?",
}  # fmt: skip


def viewed(raw: Any, dtype: str, shape: tuple[int, ...], where: str) -> NDArray[Any]:
    """The bytes of a tensor as an array; bf16 as its raw halves (`<u2`), to be widened by `widened`.

    Raises CheckpointError for a type that needs its scales to be read (FP8, FP4, packed integers).
    """
    kind = "<u2" if dtype == "BF16" else _PLAIN.get(dtype)
    if kind is None:
        raise CheckpointError(
            f"{where}: a tensor of type {dtype}, which is not calculated with here",
            next_step="give a checkpoint in bf16, fp16 or fp32",
        )
    return np.frombuffer(raw, dtype=kind).reshape(shape)


def widened(array: NDArray[Any], dtype: str) -> Floats:
    """Numbers in float32, in which everything is calculated."""
    if dtype == "BF16":
        return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return array.astype(np.float32)


class Rows(Protocol):
    """A table that is read row by row, so that a large embedding is never widened as a whole."""

    @property
    def count(self) -> int: ...

    @property
    def width(self) -> int: ...

    def take(self, ids: Ints) -> Floats: ...


class Table:
    """Rows of a tensor as it lies in its file (or in memory), widened where they are taken."""

    def __init__(self, array: NDArray[Any], dtype: str = "F32") -> None:
        self._array, self._dtype = array, dtype

    @property
    def count(self) -> int:
        return int(self._array.shape[0])

    @property
    def width(self) -> int:
        return int(self._array.shape[1])

    def take(self, ids: Ints) -> Floats:
        """float32 [len(ids), width]. Ids must be inside the table."""
        return widened(self._array[ids], self._dtype)

    def all(self) -> Floats:
        return widened(self._array, self._dtype)
