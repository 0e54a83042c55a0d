"""The version of a server with what shows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from specdoctor.core.server import LogReading, Source
from specdoctor.engines.versions import Version, VersionRange, parse_range, parse_version, range_of

_MOST_OF_A_NOTE = 400_000


@dataclass(frozen=True)
class KnownVersion:
    """A version with its source; `doubts` say why behaviour may differ from that release."""

    text: str | None = None
    source: Source | None = None
    doubts: tuple[str, ...] = ()

    def range_beside(self, log: LogReading | None) -> VersionRange:
        """The releases that it may be: itself, else those that the wording of the log proves."""
        return range_of(self.text, log.version_range if log is not None else None)

    def doubts_beside(self, log: LogReading | None, read: VersionRange) -> tuple[str, ...]:
        """Why rules that were read in the releases `read` may not hold: the log's wording, or another release."""
        known = parse_version(self.text) if self.text else None
        if known is None:
            return ()
        proved = parse_range(log.version_range) if log is not None else VersionRange()
        doubts: list[str] = []
        if not known.is_development and not proved.contains(known):
            doubts.append(f"the log's wording is that of {proved}, not of {known}")
        if not read.contains(known):
            doubts.append(f"the rules were read in {read}; {known} is none of these")
        return tuple(doubts)


def written_down(
    texts: Mapping[str, str],
    skipped: Container[str],
    pattern: re.Pattern[str],
    *,
    word: str,
    fits: Callable[[Version], bool] = lambda _version: True,
    most_of_line: int | None = None,
) -> KnownVersion:
    """A version that somebody wrote down (a note, a package list, an image tag), if there is exactly one that `fits`.

    `pattern` finds it (group `version`) in lines that hold `word`, of which the first `most_of_line` letters are read.
    """
    found: dict[str, Source] = {}
    for name, text in texts.items():
        if name in skipped or len(text) > _MOST_OF_A_NOTE or text.lstrip()[:1] in ("{", "["):
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            for match in pattern.finditer(line[:most_of_line]) if word in line.lower() else ():
                version = parse_version(match["version"])
                if version is not None and fits(version):
                    found.setdefault(match["version"], Source(where=name, line=number, quote=match[0].strip()))
    if len(found) != 1:
        return KnownVersion()
    text, source = next(iter(found.items()))
    return KnownVersion(text, source, ("the version was written down by somebody, not by the server",))
