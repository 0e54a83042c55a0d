"""Lines and columns of the keys of a TOML file, which the standard library's reader does not tell."""

from __future__ import annotations

import re
import tomllib

Path = tuple[str, ...]
_HEADER = re.compile(r"^\s*\[\[?(?P<keys>[^\]\n]+)\]\]?\s*(?:#.*)?$")
_ASSIGNED = re.compile(r"^(?P<lead>\s*)(?P<keys>(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')(?:\s*\.\s*[\w\"'-]+)*)\s*=")
_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([A-Za-z0-9_-]+)")
_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")


class TomlPlaces:
    """Where each key of a text stands; found by its lines, so a key inside an inline table counts as its table's."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines() or [""]
        self._places: dict[Path, tuple[int, int]] = {}
        table: Path = ()
        for number, line in enumerate(self._lines, start=1):
            if header := _HEADER.match(line):
                table = _keys(header.group("keys"))
                for size in range(1, len(table) + 1):
                    self._places.setdefault(table[:size], (number, header.start("keys") + 1))
            elif assigned := _ASSIGNED.match(line):
                path = (*table, *_keys(assigned.group("keys")))
                self._places.setdefault(path, (number, len(assigned.group("lead")) + 1))

    def find(self, path: Path) -> tuple[int, int]:
        """Line and column of a key, else of the nearest table around it, else the file's beginning."""
        for size in range(len(path), 0, -1):
            if path[:size] in self._places:
                return self._places[path[:size]]
        return (1, 1)

    def of_syntax_error(self, error: tomllib.TOMLDecodeError) -> tuple[int, int, str]:
        """Line, column and words of a syntax error."""
        text = str(error)
        found = _AT.search(text)
        words = _AT.sub("", text)
        words = words[:1].lower() + words[1:]
        if found is None or found.group(1) is None:
            return (len(self._lines), len(self._lines[-1]) + 1, f"{words} at the end of the file")
        return (int(found.group(1)), int(found.group(2)), words)


def _keys(text: str) -> Path:
    return tuple(a or b or c for a, b, c in _PART.findall(text))
