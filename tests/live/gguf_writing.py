"""Write GGUF files: metadata, then tensors, little-endian, version 3."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.gguf_bytes import gguf_text, gguf_value

ALIGN = 32
_TYPES = {"float32": 0, "float16": 1, "int64": 27}
Arrays = Mapping[str, NDArray[Any]]


def write_gguf(path: Path, metadata: Mapping[str, Any], tensors: Arrays) -> None:
    """One file; shapes are outermost first here and innermost first in the file."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        head += gguf_text(key) + gguf_value(value, signed=True)
    at = 0
    for name, array in tensors.items():
        dims = struct.pack(f"<I{array.ndim}Q", array.ndim, *reversed(array.shape))
        head += gguf_text(name) + dims + struct.pack("<IQ", _TYPES[str(array.dtype)], at)
        at += (array.nbytes + ALIGN - 1) // ALIGN * ALIGN
    with path.open("wb") as stream:
        stream.write(head + b"\0" * (-len(head) % ALIGN))
        for array in tensors.values():
            stream.write(np.ascontiguousarray(array).tobytes())
            stream.write(b"\0" * (-array.nbytes % ALIGN))
