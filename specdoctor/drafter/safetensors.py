"""The header of a safetensors file: names, types and shapes of its tensors, without the tensors.

A file begins with eight bytes, a little-endian length N, then N bytes of JSON, then the data. Nothing here reads a
file: whoever does reads the eight bytes, asks `header_length`, and reads that much more.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, TypeGuard

from specdoctor.core.errors import CheckpointError

PREFIX_BYTES = 8
LARGEST_HEADER_BYTES = 32 << 20
_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
NEXT = "fetch the file again from where it was made; compare its size and SHA-256 with the original"


class Tensor(NamedTuple):
    """One tensor of a file: `begin` and `end` are bytes from the start of the data."""

    dtype: str
    shape: tuple[int, ...]
    begin: int = 0
    end: int = 0

    @property
    def shown(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


def header_length(prefix: bytes, where: str) -> int:
    """Length of the JSON header from a file's first eight bytes. Raises CheckpointError."""
    if len(prefix) < PREFIX_BYTES:
        raise CheckpointError(f"{where}: {len(prefix)} bytes, too short for a safetensors file", next_step=NEXT)
    length = int.from_bytes(prefix[:PREFIX_BYTES], "little")
    if length > LARGEST_HEADER_BYTES and (prefix[:4] == b"PK\x03\x04" or prefix[:1] == b"\x80"):
        raise CheckpointError(
            f"{where}: this is a pickled file under the name of a safetensors file; it is not opened, since opening a "
            "pickle runs what is in it",
            next_step="convert it to safetensors where it was made",
        )
    if length > LARGEST_HEADER_BYTES:
        raise CheckpointError(
            f"{where}: its first eight bytes announce a header of {length} bytes; more than {LARGEST_HEADER_BYTES} are "
            "not read, and no checkpoint has as many",
            next_step=f"this is no safetensors file, or a damaged one: {NEXT}",
        )
    if length < 2:
        raise CheckpointError(f"{where}: its header is empty", next_step=NEXT)
    return length


def parse_header(raw: bytes, where: str, *, length: int, data_bytes: int | None = None) -> dict[str, Tensor]:
    """The tensors of a header of `length` bytes. `data_bytes` is how much follows it, if known.

    Raises CheckpointError for a header that is cut off or not sound, and for data that end before the last tensor.
    """
    if len(raw) < length:
        raise CheckpointError(
            f"{where}: cut off within its header ({len(raw)} of {length} bytes are there)", next_step=NEXT
        )
    found: dict[str, Tensor] = {}
    for name, entry in _object(raw[:length], where).items():
        if name != "__metadata__":
            found[name] = _tensor(name, entry, where)
    last = max((tensor.end for tensor in found.values()), default=0)
    if data_bytes is not None and data_bytes < last:
        raise CheckpointError(
            f"{where}: cut off: its header describes {last} bytes of tensors, {data_bytes} are there", next_step=NEXT
        )
    return found


def _object(raw: bytes, where: str) -> dict[str, Any]:
    try:
        header = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: its header is not JSON ({_short(error)})", next_step=NEXT) from error
    if not isinstance(header, dict):
        raise CheckpointError(f"{where}: its header is no JSON object", next_step=NEXT)
    return header


def _tensor(name: str, entry: Any, where: str) -> Tensor:
    fault = CheckpointError(f"{where}: its header describes {name[:80]!r} in no way that can be true", next_step=NEXT)
    if not isinstance(entry, dict):
        raise fault
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or not _counts(shape) or not _counts(offsets) or len(offsets) != 2:
        raise fault
    begin, end = offsets
    bits = _BITS.get(dtype)
    if begin > end or (bits is not None and math.prod(shape) * bits != (end - begin) * 8):
        raise fault
    return Tensor(dtype=dtype, shape=tuple(shape), begin=begin, end=end)


def _counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(
        isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 1 << 60 for item in value
    )


def _short(error: BaseException) -> str:
    return (str(error).split("\n", 1)[0] or type(error).__name__)[:120]
