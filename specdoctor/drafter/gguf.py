"""The header of a GGUF file: its metadata and the names, types and shapes of its tensors, without the tensors.

Long arrays (a vocabulary, its merges) are walked and not kept: of a list of strings the number and one checksum for
each are kept, so that two vocabularies can be compared entry by entry.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from dataclasses import dataclass, field
from typing import Any

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.safetensors import Tensor

MAGIC = b"GGUF"
FIRST_BYTES = 1 << 20
LARGEST_HEADER_BYTES = 64 << 20
MOST_ENTRIES = 4096
MOST_TENSORS = 100_000
KEPT_ARRAY = 64
_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_TYPES = {0: "F32", 1: "F16", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 30: "BF16"}
_SIZES = {"F32": 4, "F16": 2, "I8": 1, "I16": 2, "I32": 4, "I64": 8, "F64": 8, "BF16": 2}
NEXT = "make the GGUF file again with the converter of llama.cpp, or fetch it again"


@dataclass(frozen=True)
class Strings:
    """A list of strings, by the CRC-32 of each."""

    checks: array[int]

    def __len__(self) -> int:
        return len(self.checks)


@dataclass(frozen=True)
class GgufHeader:
    """What the header says. Offsets of `tensors` count from `data_at`, in bytes; shapes are outermost first."""

    metadata: dict[str, Any]
    tensors: dict[str, Tensor]
    strings: dict[str, Strings] = field(default_factory=dict)
    data_at: int = 0


class NeedMore(Exception):
    """The header goes on beyond the bytes given."""


def parse_gguf(raw: bytes, where: str) -> GgufHeader:
    """The header at the start of `raw`. Raises NeedMore when it does not end there, CheckpointError when not sound."""
    if len(raw) < len(MAGIC) and MAGIC.startswith(raw):
        raise NeedMore
    if raw[:4] != MAGIC:
        raise CheckpointError(f"{where}: this is no GGUF file (it begins with {raw[:4]!r})", next_step=NEXT)
    walk = _Walk(raw, where)
    walk.at = 4
    version = walk.number("I")
    if version not in (2, 3):
        raise CheckpointError(f"{where}: GGUF version {version} is not known (2 and 3 are)", next_step=NEXT)
    tensor_count, entry_count = walk.number("Q"), walk.number("Q")
    if entry_count > MOST_ENTRIES or tensor_count > MOST_TENSORS:
        raise walk.unsound(f"announces {entry_count} entries and {tensor_count} tensors")
    metadata: dict[str, Any] = {}
    for _ in range(entry_count):
        key = walk.string().decode("utf-8", errors="replace")
        metadata[key] = walk.value(walk.number("I"), key)
    tensors: dict[str, Tensor] = {}
    for _ in range(tensor_count):
        name = walk.string().decode("utf-8", errors="replace")
        tensors[name] = walk.tensor()
    alignment = metadata.get("general.alignment")
    align = alignment if isinstance(alignment, int) and 0 < alignment <= 1 << 16 else 32
    return GgufHeader(
        metadata=metadata, tensors=tensors, strings=walk.strings, data_at=(walk.at + align - 1) // align * align
    )


class _Walk:
    """Goes through a header from front to back."""

    def __init__(self, raw: bytes, where: str) -> None:
        self._raw = raw
        self._where = where
        self.at = 0
        self.strings: dict[str, Strings] = {}

    def unsound(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self._where}: a damaged GGUF header (byte {self.at}: {what})", next_step=NEXT)

    def number(self, code: str) -> Any:
        size = struct.calcsize("<" + code)
        return struct.unpack("<" + code, self._take(size))[0]

    def string(self) -> bytes:
        return self._take(self.number("Q"))

    def value(self, kind: int, key: str) -> Any:
        if kind == _STRING:
            return self.string().decode("utf-8", errors="replace")
        if kind == _ARRAY:
            return self._array(key)
        if kind not in _SCALARS:
            raise self.unsound(f"value of unknown type {kind}")
        return self.number(_SCALARS[kind])

    def tensor(self) -> Tensor:
        dimensions = self.number("I")
        if dimensions > 8:
            raise self.unsound(f"a tensor of {dimensions} dimensions")
        shape = tuple(reversed([self.number("Q") for _ in range(dimensions)]))
        code, offset = self.number("I"), self.number("Q")
        dtype = _TYPES.get(code, f"GGML_{code}")
        size = _SIZES.get(dtype, 0)
        for extent in shape:
            size *= extent
        return Tensor(dtype=dtype, shape=shape, begin=offset, end=offset + size)

    def _array(self, key: str) -> Any:
        kind, count = self.number("I"), self.number("Q")
        if kind == _STRING:
            return self._string_array(key, count)
        if kind not in _SCALARS:
            raise self.unsound(f"an array of type {kind}")
        size = struct.calcsize("<" + _SCALARS[kind])
        raw = self._take(size * count)
        if count > KEPT_ARRAY:
            return f"{count} values"
        return list(struct.unpack(f"<{count}{_SCALARS[kind]}", raw))

    def _string_array(self, key: str, count: int) -> Any:
        if count > LARGEST_HEADER_BYTES // 8:
            raise self.unsound(f"an array of {count} strings")
        checks = array("L") if array("I").itemsize < 4 else array("I")
        few: list[str] = []
        for _ in range(count):
            text = self.string()
            checks.append(zlib.crc32(text))
            if count <= KEPT_ARRAY:
                few.append(text.decode("utf-8", errors="replace"))
        self.strings[key] = Strings(checks)
        return few if count <= KEPT_ARRAY else f"{count} strings"

    def _take(self, size: int) -> bytes:
        if size > LARGEST_HEADER_BYTES:
            raise self.unsound(f"a part of {size} bytes")
        if self.at + size > len(self._raw):
            raise NeedMore
        taken = self._raw[self.at : self.at + size]
        self.at += size
        return taken
