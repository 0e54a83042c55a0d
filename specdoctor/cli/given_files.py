"""What a person gives to be judged: files, folders, archives, a paste. Texts by name, and what could not be read."""

from __future__ import annotations

import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from specdoctor.cli.text_files import GivenText, NotText, chunks_of, read_text, text_of
from specdoctor.core.errors import UsageError

STDIN = "-"
PASTED = "stdin"
MOST_FILES = 2000
MOST_KEPT_CHARS = 512 << 20
"""Of all texts together; further ones are named and not read."""
SHOWN = 3
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2")


@dataclass
class Given:
    """`texts` by path relative to the folder they were given in; `problems` of files that were not read, or in part."""

    texts: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    _kept: int = 0

    def add(self, name: str, found: GivenText) -> None:
        self._kept += len(found.text)
        if self._kept > MOST_KEPT_CHARS:
            self.problems[name] = f"is left out: more than {MOST_KEPT_CHARS >> 20} MiB of text were given before it"
            return
        self.texts[name] = found.text
        if found.left_out:
            self.problems[name] = found.left_out

    def full(self) -> bool:
        return len(self.texts) + len(self.problems) >= MOST_FILES


def read_given(paths: list[Path]) -> Given:
    """Every text below the paths; `-` stands for what is pasted. Binary and empty files are named in `problems`.

    Raises UsageError for a path that is not there, or when no text is found.
    """
    given = Given()
    base, files = _listed([path for path in paths if str(path) != STDIN])
    if any(str(path) == STDIN for path in paths):
        _take(given, PASTED, partial(_read_open, sys.stdin.buffer))
    for path in files:
        name = path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix()
        if given.full():
            given.problems[name] = f"is left out: more than {MOST_FILES} files were given"
        elif path.name.lower().endswith(_ARCHIVES):
            prefix = "" if len(files) == 1 else f"{name}/"
            _take_archive(given, path, prefix)
        else:
            _take(given, name, partial(read_text, path))
    if not given.texts:
        shown = [f"{name} {why}" for name, why in given.problems.items()]
        more = f"; and {len(shown) - SHOWN} more" if shown[SHOWN:] else ""
        raise UsageError(
            f"no text file in {', '.join(map(str, paths))}{': ' if shown else ''}{'; '.join(shown[:SHOWN])}{more}",
            next_step="give a server log (it may be a .gz), or a folder or archive that holds one",
        )
    return given


def _read_open(file: IO[bytes]) -> GivenText:
    return text_of(chunks_of(file))


def _take(given: Given, name: str, read: Callable[[], GivenText]) -> None:
    try:
        given.add(name, read())
    except NotText as why:
        given.problems[name] = str(why)


def _listed(paths: list[Path]) -> tuple[Path, list[Path]]:
    """The folder that names are relative to, and every file below the paths."""
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no {path}", next_step="give a server log, or a folder that holds one")
    folders = [path if path.is_dir() else path.parent for path in paths]
    base = folders[0] if folders and all(folder == folders[0] for folder in folders) else Path.cwd()
    files = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    return base, [file for file in dict.fromkeys(files) if file.is_file()]


def _take_archive(given: Given, path: Path, prefix: str) -> None:
    """The files of an archive by their names in it; nothing is written anywhere, and no link is followed."""
    seen = 0
    try:
        members = _zip_members(path) if zipfile.is_zipfile(path) else _tar_members(path)
        for name, file in members:
            seen += 1
            if seen > MOST_FILES:
                given.problems[path.name] = f"holds more than {MOST_FILES} files: the rest is left out"
                return
            _take(given, prefix + inner_name(name), partial(_read_open, file))
    except (
        OSError,
        EOFError,
        zlib.error,
        tarfile.TarError,
        zipfile.BadZipFile,
        RuntimeError,
        NotImplementedError,
    ) as why:
        given.problems[path.name] = f"is an archive that cannot be read to its end ({type(why).__name__}: {why})"


def inner_name(name: str) -> str:
    """A name within an archive that leads nowhere out of it."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    return "/".join(parts) or "file"


def _zip_members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                with archive.open(member) as file:
                    yield member.filename, file


def _tar_members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(path, mode="r|*") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                yield member.name, file
