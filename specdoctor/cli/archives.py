"""The files of an archive, read one after the other; nothing is written anywhere, and no link is followed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from specdoctor.cli.text_files import LARGEST_BYTES
from specdoctor.core.input_file import open_input

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2")
_PACKED: tuple[tuple[bytes, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ", lzma.open),
)  # fmt: skip
_TAR_KINDS = {
    tarfile.SYMTYPE: "a symbolic link", tarfile.LNKTYPE: "a hard link", tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device", tarfile.FIFOTYPE: "a pipe",
}  # fmt: skip
UNREADABLE = (
    OSError, EOFError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, RuntimeError, NotImplementedError,
)  # fmt: skip
"""What the language's own readers raise on a damaged archive, beside zlib's error."""


class TooMuch(Exception):
    """What an archive unpacks to is more than is read of one."""


class Member(NamedTuple):
    """One entry: the file to read, else why it is not read, as the end of a sentence."""

    name: str
    file: IO[bytes] | None
    refused: str = ""


def members_of(path: Path) -> Iterator[Member]:
    """Every entry but folders, in order. Raises TooMuch, `UNREADABLE` and zlib.error as the reading goes on."""
    with open_input(path, pipes=False) as file:
        budget = _Budget()
        yield from _zip(file, budget) if zipfile.is_zipfile(file) else _tar(file, budget)


def leads_out(name: str) -> str:
    """Why a name is none within an archive, as the end of a sentence; "" for an ordinary one."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or name[1:3] in (":\\", ":/"):
        return "is named by an absolute path, which is nowhere in an archive"
    return "has a name that leads out of the archive (..)" if ".." in path.parts else ""


class _Budget:
    """What may still be unpacked of one archive."""

    def __init__(self) -> None:
        self.left = LARGEST_BYTES

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise TooMuch


class _Counted(io.RawIOBase):
    """An unpacked stream that ends the reading of an archive bomb."""

    def __init__(self, file: IO[bytes], budget: _Budget) -> None:
        self._file = file
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._file.read(len(buffer))
        self._budget.take(len(found))
        buffer[: len(found)] = found
        return len(found)


def _zip(file: IO[bytes], budget: _Budget) -> Iterator[Member]:
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            why = leads_out(member.filename)
            if stat.S_ISLNK(member.external_attr >> 16):
                why = "is a symbolic link: not followed"
            if member.flag_bits & 1:
                why = "is encrypted"
            if why:
                yield Member(member.filename, None, why)
            elif not member.is_dir():
                with archive.open(member) as opened:
                    yield Member(member.filename, io.BufferedReader(_Counted(opened, budget), 1 << 20))


def _tar(file: IO[bytes], budget: _Budget) -> Iterator[Member]:
    file.seek(0)
    head = file.read(6)
    file.seek(0)
    opener = next((made for mark, made in _PACKED if head.startswith(mark)), None)
    stream = io.BufferedReader(_Counted(opener(file) if opener else file, budget), 1 << 20)
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            why = leads_out(member.name)
            if member.type in _TAR_KINDS:
                why = f"is {_TAR_KINDS[member.type]}: not followed"
            opened = archive.extractfile(member) if member.isfile() and not why else None
            if why or opened is not None:
                yield Member(member.name, opened, why)
