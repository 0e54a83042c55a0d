"""Strings and values of a GGUF file's metadata as bytes, version 3, little-endian."""

from __future__ import annotations

import struct
from typing import Any


def gguf_text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def gguf_value(value: Any, *, signed: bool = False) -> bytes:
    """`signed`: lists of whole numbers are written as such."""
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + gguf_text(value)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(gguf_text, value))
        case list():
            kind, form = (5, "i") if signed else (4, "I")
            return struct.pack(f"<IIQ{len(value)}{form}", 9, kind, len(value), *value)
    raise TypeError(f"no GGUF value: {value!r}")
