"""Text as it lies on this machine: compressed by a log rotation, written by another system, with holes in it."""

from __future__ import annotations

import zlib
from pathlib import Path

from specdoctor.core.errors import UsageError

LARGEST_BYTES = 256 * 1024 * 1024
_GZIP = b"\x1f\x8b"
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
_SAMPLE = 65536
_STRANGE = 0.2
"""Share of characters that no text has, from which on a file is taken for a binary one."""


class NotText(ValueError):
    """A file that holds no text; its message says why, as the end of a sentence."""


def read_text(path: Path) -> str:
    """The text of a file, carriage returns too, so that its lines keep their numbers; `.gz` is unpacked.

    NUL bytes are left out: a log that was truncated while its writer held it open begins with a run of them.
    Raises NotText for what is empty, binary or larger than `LARGEST_BYTES`, UsageError for what cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", next_step="check the rights on it") from error
    if content.startswith(_GZIP):
        content = _unpacked(content)
    if len(content) > LARGEST_BYTES:
        raise NotText(f"is larger than {LARGEST_BYTES >> 20} MiB")
    content = content.lstrip(b"\0")
    if not content:
        raise NotText("is empty")
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    text = content.decode(encoding, errors="replace")
    if _strange(text[-_SAMPLE:]) > _STRANGE:
        raise NotText("is no text")
    return text.replace("\0", "")


def _unpacked(content: bytes) -> bytes:
    """As much as can be unpacked: a file may be cut off."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        found = unpacker.decompress(content, LARGEST_BYTES + 1)
        while unpacker.eof and unpacker.unused_data.startswith(_GZIP) and len(found) <= LARGEST_BYTES:
            rest = unpacker.unused_data
            unpacker = zlib.decompressobj(wbits=31)
            found += unpacker.decompress(rest, LARGEST_BYTES + 1 - len(found))
    except zlib.error as error:
        raise NotText("is compressed and damaged") from error
    return found


def _strange(text: str) -> float:
    """The share of characters that stand in no text: controls, and what could not be decoded."""
    odd = sum(1 for c in text if c == "\ufffd" or (c < " " and c not in "\t\n\r\x0b\x0c\x1b"))
    return odd / len(text) if text else 0.0
