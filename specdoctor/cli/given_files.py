"""What a person gives to be judged: files, folders, archives, a paste. Texts by name, and what could not be read."""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from specdoctor.cli.archives import SUFFIXES, UNREADABLE, TooMuch, members_of
from specdoctor.cli.output import say
from specdoctor.cli.text_files import LARGEST_BYTES, GivenText, NotText, chunks_of, read_text, text_of
from specdoctor.core.errors import UsageError
from specdoctor.core.input_file import SILENCE_S, is_folder, is_there, kind_refused
from specdoctor.core.server import WholeLog

STDIN = "-"
PASTED = "stdin"
MOST_FILES = 500
"""Every log is judged beside every other file: a report has a few dozen."""
MOST_KEPT_CHARS = 512 << 20
"""Of all texts together; further ones are named and not read."""
SHOWN = 3
FURTHER = "further files"
MOST_SEEN = 20_000
"""Names of a folder that are looked at."""


@dataclass
class Given:
    """`texts` by path relative to the folder they were given in; `problems` of files that were not read, or in part;
    `wholes` what all lines of a log gave of which the text holds a part.
    """

    texts: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    wholes: dict[str, WholeLog] = field(default_factory=dict)
    _kept: int = 0

    def add(self, name: str, found: GivenText) -> None:
        self._kept += len(found.text)
        if self._kept > MOST_KEPT_CHARS:
            self.problems[name] = f"is left out: more than {MOST_KEPT_CHARS >> 20} MiB of text were given before it"
            return
        self.texts[name] = found.text
        if found.whole is not None:
            self.wholes[name] = found.whole
        if found.left_out:
            self.problems[name] = found.left_out

    def full(self) -> bool:
        return len(self.texts) + len(self.problems) >= MOST_FILES


def read_given(paths: list[Path]) -> Given:
    """Every text below the paths; `-` stands for what is pasted. Binary and empty files are named in `problems`.

    Raises UsageError for a path that is not there, or when no text is found.
    """
    given = Given()
    named = [path for path in paths if str(path) != STDIN]
    base = _base_of(named)
    files = dict.fromkeys(file for path in named for file in _below(path, base, given))
    if any(str(path) == STDIN for path in paths):
        _take(given, PASTED, partial(_read_open, sys.stdin.buffer))
    left = 0
    for path in files:
        name = _name(path, base)
        if given.full():
            left += 1
        elif path.name.lower().endswith(SUFFIXES):
            prefix = "" if len(files) == 1 else f"{name}/"
            _take_archive(given, path, prefix)
        else:
            _say_that_it_waits(path)
            _take(given, name, partial(read_text, path), named=path in named)
    if left:
        why = f"are left out, {left} of them: more than {MOST_FILES} were given; name those that matter"
        given.problems[FURTHER] = why
    if not given.texts:
        shown = [f"{name} {why}" for name, why in given.problems.items()]
        more = f"; and {len(shown) - SHOWN} more" if shown[SHOWN:] else ""
        raise UsageError(
            f"no text file in {', '.join(map(str, paths))}{': ' if shown else ''}{'; '.join(shown[:SHOWN])}{more}",
            next_step="give a server log (it may be a .gz), or a folder or archive that holds one",
        )
    return given


def _say_that_it_waits(path: Path) -> None:
    """A pipe with a name of its own may have no writer; one that a shell made (`<(command)`) has."""
    if path.is_fifo() and path.parent != Path("/dev/fd"):
        say(f"{path} is a pipe: waiting for what is written to it, at most {SILENCE_S:g} s at a time")


def _read_open(file: IO[bytes]) -> GivenText:
    return text_of(chunks_of(file))


def _take(given: Given, name: str, read: Callable[[], GivenText], *, named: bool = False) -> None:
    """One text, or why it is none. Raises UsageError for what was `named` itself and cannot be opened."""
    try:
        given.add(name, read())
    except NotText as why:
        given.problems[name] = str(why)
    except UsageError as failure:
        if named:
            raise
        given.problems[name] = f"cannot be read: {failure.message.rsplit(': ', 1)[-1]}"


def _base_of(paths: list[Path]) -> Path:
    """The folder that names are relative to. Raises UsageError for a path that is not there."""
    for path in paths:
        if not is_there(path):
            raise UsageError(f"there is no {path}", next_step="give a server log, or a folder that holds one")
    folders = [path if is_folder(path) else path.parent for path in paths]
    return folders[0] if folders and all(folder == folders[0] for folder in folders) else Path.cwd()


def _name(path: Path, base: Path) -> str:
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix()


def _below(path: Path, base: Path, given: Given) -> Iterator[Path]:
    """A file itself, or the files of a folder; what of it is no file, or a link that leads out of it, is a problem."""
    if not is_folder(path):
        yield path
        return
    whole = path.resolve()
    seen = 0
    for folder, folders, names in os.walk(path):
        folders.sort()
        linked = [name for name in folders if Path(folder, name).is_symlink()]
        for name in sorted([*names, *linked]):
            seen += 1
            if seen > MOST_SEEN:
                given.problems[_name(path, base)] = f"holds more than {MOST_SEEN} names: the rest is left out"
                return
            file = Path(folder, name)
            why = _why_not(file, whole)
            if not why:
                yield file
            elif not given.full():
                given.problems[_name(file, base)] = why


def _why_not(file: Path, whole: Path) -> str:
    """Why a name in a folder is not read, as the end of a sentence; "" for a file."""
    try:
        if file.is_symlink() and not file.resolve().is_relative_to(whole):
            return f"is a link that leads out of the folder: not followed; give {file.resolve()} itself if it is meant"
        found = file.stat()
    except (OSError, RuntimeError):
        return "is a link that leads nowhere" if file.is_symlink() else "cannot be looked at"
    if stat.S_ISDIR(found.st_mode):
        return "is a link to a folder: not followed"
    if stat.S_ISFIFO(found.st_mode):
        return "is a pipe: of a folder only files are read"
    return kind_refused(found.st_mode, found.st_rdev).replace("it is", "is", 1)


def _take_archive(given: Given, path: Path, prefix: str) -> None:
    """The files of an archive by their names in it; what is not read of it is named."""
    seen = 0
    name = prefix.rstrip("/") or path.name
    try:
        for member in members_of(path):
            seen += 1
            if seen > MOST_FILES or given.full():
                given.problems[name] = f"holds more than {MOST_FILES} files: the rest is left out"
                return
            if member.file is None:
                given.problems[prefix + member.name] = member.refused
            else:
                _take(given, prefix + member.name, partial(_read_open, member.file))
    except TooMuch:
        given.problems[name] = f"unpacks to more than {LARGEST_BYTES >> 20} MiB: the rest of it is left out"
    except (*UNREADABLE, zlib.error) as why:
        said = why.strerror if isinstance(why, OSError) and why.strerror else f"{type(why).__name__}: {why}"
        given.problems[name] = f"is an archive that cannot be read to its end ({said})"
