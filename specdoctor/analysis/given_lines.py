"""Lines of what was given, by pattern: a log, a command, a person's notes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from specdoctor.core.material import FileKind
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

LONGEST_CHARS = 2000
"""A longer line is searched and quoted up to here."""


def found_lines(scene: Scene, pattern: re.Pattern[str], *kinds: FileKind) -> Iterator[tuple[Source, re.Match[str]]]:
    """Each line that the pattern matches, with its place, of all files or of those kinds, in the order of the files."""
    seen = {f.where: f.kind for f in scene.material.files}
    for where, text in scene.material.texts.items():
        if kinds and seen.get(where) not in kinds:
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            match = pattern.search(line, 0, LONGEST_CHARS)
            if match is not None:
                yield Source(where=where, line=number, quote=_quote(line, match)), match


def first_line(scene: Scene, pattern: re.Pattern[str], *kinds: FileKind) -> Source | None:
    """The place of the first such line."""
    return next((source for source, _ in found_lines(scene, pattern, *kinds)), None)


def files_of(scene: Scene, kinds: Collection[FileKind]) -> tuple[str, ...]:
    """The files of those kinds by name."""
    return tuple(f.where for f in scene.material.files if f.kind in kinds)


def _quote(line: str, match: re.Match[str]) -> str:
    """The words around the match as they stand, so that they can be found again."""
    start = max(match.start() - 60, 0)
    return line[start : max(match.end() + 80, start + 200)].strip()
