"""Text as it lies on this machine: compressed by a log rotation, written by another system, with holes in it."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

from specdoctor.cli.long_logs import CHUNK_BYTES, WHOLE_BYTES, gathered
from specdoctor.core.errors import UsageError
from specdoctor.core.input_file import open_input
from specdoctor.core.server import WholeLog

LARGEST_BYTES = 4 << 30
"""A text is read up to here, whatever it was packed into."""
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
_SAMPLE = 65536
_STRANGE = 0.2
"""Share of characters that no text has, from which on a file is taken for a binary one."""
_ZSTD_MODULES = (("compression.zstd", "open"), ("zstandard", "open"))
_ZSTD_WAIT_S = 60.0


class NotText(ValueError):
    """A file that holds no text; its message says why, as the end of a sentence."""


class GivenText(NamedTuple):
    """A text, what of it was left out for its length ("" for nothing), and what all lines of a long log gave."""

    text: str
    left_out: str = ""
    whole: WholeLog | None = None


def read_text(path: Path) -> GivenText:
    """The text of a file, carriage returns too, so that its lines keep their numbers; `.gz` and `.zst` are unpacked.

    NUL bytes are left out: a log that was truncated while its writer held it open begins with a run of them.
    Raises NotText for what is empty, binary or too large, UsageError for what cannot be read.
    """
    try:
        with open_input(path) as file:
            head = file.read(len(_ZSTD)) or b""
            if head == _ZSTD:
                return text_of(_unpacked_zstd(path) if file.seekable() else iter((head,)))
            return text_of(chain((head,), chunks_of(file)))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", next_step="check the rights on it") from error


def chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    """A file's bytes piece by piece. Raises NotText past `LARGEST_BYTES`."""
    total = 0
    while chunk := file.read(CHUNK_BYTES):
        total += len(chunk)
        if total > LARGEST_BYTES:
            raise NotText(f"is larger than {LARGEST_BYTES >> 20} MiB")
        yield chunk


def text_of(chunks: Iterable[bytes]) -> GivenText:
    """The text in pieces of a file, unpacked where it is gzip. Raises NotText."""
    from specdoctor.assembly.judging import decode_columns

    feed = iter(chunks)
    first = next((chunk for chunk in feed if chunk), b"")
    while len(first) < len(_ZSTD) and (more := next(feed, b"")):
        first += more
    if first.startswith(_ZSTD):
        raise NotText("is packed with zstd inside an archive or a pipe; unpack it first (zstd -d)")
    pieces = chain((first,), feed)
    columns = decode_columns()
    found = gathered(_sniffed(_unpacked_gzip(pieces) if first.startswith(_GZIP) else pieces), watch=columns.take)
    content = found.text.lstrip(b"\0")
    if not content:
        raise NotText("is empty")
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    text = content.decode(encoding, errors="replace")
    if _strange(text[-_SAMPLE:]) > _STRANGE:
        raise NotText("is no text")
    said = found.left_out + (f"; the means are of all {columns.lines} decode lines" if columns.lines else "")
    return GivenText(text.replace("\0", "") if "\0" in text else text, said, columns.means() if columns.lines else None)


def _unpacked_gzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """As much as can be unpacked: a file may be cut off, and several may be joined."""
    unpacker = zlib.decompressobj(wbits=31)
    total = 0
    for chunk in chunks:
        waiting = chunk
        while waiting:
            try:
                found = unpacker.decompress(waiting, CHUNK_BYTES)
            except zlib.error as error:
                raise NotText("is compressed and damaged") from error
            total += len(found)
            if total > LARGEST_BYTES:
                raise NotText(f"is larger than {LARGEST_BYTES >> 20} MiB")
            yield found
            if unpacker.eof:
                waiting = unpacker.unused_data
                if not waiting.startswith(_GZIP):
                    return
                unpacker = zlib.decompressobj(wbits=31)
            else:
                waiting = unpacker.unconsumed_tail


def _unpacked_zstd(path: Path) -> Iterator[bytes]:
    """By the language's own module or an installed one, else by the zstd program; NotText where there is none."""
    for name, function in _ZSTD_MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        opened: Callable[..., IO[bytes]] = getattr(module, function)
        broken: type[Exception] = getattr(module, "ZstdError", ValueError)
        try:
            with opened(path, "rb") as file:
                yield from chunks_of(file)
        except (OSError, EOFError, broken) as error:
            raise NotText("is compressed and damaged") from error
        return
    program = shutil.which("zstd")
    if program is None:
        raise NotText("is packed with zstd, which this Python cannot unpack: install zstd, or unpack it (zstd -d)")
    with subprocess.Popen([program, "-dcq", "--", str(path)], stdout=subprocess.PIPE) as running:
        if running.stdout is not None:
            yield from chunks_of(running.stdout)
        if running.wait(_ZSTD_WAIT_S) != 0:
            raise NotText("is compressed and damaged")


def _sniffed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same pieces; what is seen to be no text is not read to its end. Raises NotText."""
    total = 0
    for chunk in chunks:
        before, total = total, total + len(chunk)
        if before <= WHOLE_BYTES < total:
            sample = chunk[-_SAMPLE:].replace(b"\0", b"").decode("utf-8", errors="replace")
            if _strange(sample) > _STRANGE:
                raise NotText("is no text")
        yield chunk


def _strange(text: str) -> float:
    """The share of characters that stand in no text: controls, and what could not be decoded."""
    odd = sum(1 for c in text if c == "\ufffd" or (c < " " and c not in "\t\n\r\x0b\x0c\x1b"))
    return odd / len(text) if text else 0.0
