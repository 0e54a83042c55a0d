"""YAML with the line and column of everything in it, so that a fault can be pointed at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import Fault, refusal

Place = tuple[str | int, ...]
DEEPEST = 200
_BRACKET = re.compile(r"[\[\]{}]")
MOST_PARTS = 100_000
"""Values in one document, aliases written out; more are a mistake or an attack."""


class YamlFile:
    """Plain data, and where each part of it stands."""

    def __init__(self, path: Path, data: Any, marked: Any) -> None:
        self.path = path
        self.data = data
        self._marked = marked

    def with_data(self, data: Any) -> YamlFile:
        """Other data of the same shape, such as with names filled in; everything stands where it stood."""
        return YamlFile(self.path, data, self._marked)

    def find(self, place: Place) -> tuple[int, int]:
        """Line and column (from 1) of what stands at `place`: a key's own, an item's, else that of what is around."""
        node, found = self._marked, (1, 1)
        for part in place:
            marks: Any = getattr(node, "lc", None)
            try:
                line, column = marks.item(part) if isinstance(part, int) else marks.key(part)
                node = node[part]
            except (AttributeError, KeyError, IndexError, TypeError):
                break
            found = (line + 1, column + 1)
        return found


def parse_yaml(path: Path, content: bytes) -> YamlFile:
    """The one document in a file's content. Raises UsageError for what is no YAML, with line and column."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _no_yaml(path, line, 1, "this is no UTF-8 text") from error
    if bracket_depth(text) > DEEPEST:
        raise _no_yaml(path, 1, 1, f"its brackets are nested deeper than {DEEPEST}")
    reader = YAML(typ="rt")
    reader.allow_duplicate_keys = False
    try:
        marked = reader.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise _no_yaml(path, line, column, str(error.problem or error.context or error)) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise _no_yaml(path, 1, 1, str(error)) from error
    try:
        plain = _Plain().of(marked)
    except (OverflowError, RecursionError) as error:
        raise _no_yaml(path, 1, 1, "its aliases stand for too much") from error
    return YamlFile(path, plain, marked)


def bracket_depth(text: str) -> int:
    """How deep brackets are nested at most, those in texts counted too: the reader's time grows with its square."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return 0
    depth = deepest = 0
    for bracket in _BRACKET.findall(text):
        depth = max(0, depth + (1 if bracket in "[{" else -1))
        deepest = max(deepest, depth)
    return deepest


def _no_yaml(path: Path, line: int, column: int, said: str) -> UsageError:
    return refusal(str(path), [Fault(line=line, column=column, key="(syntax)", message=" ".join(said.split()))])


class _Plain:
    """The reader's own types as those of the language; raises OverflowError past `MOST_PARTS`."""

    def __init__(self) -> None:
        self._parts = 0

    def of(self, value: Any) -> Any:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise OverflowError
        if isinstance(value, dict):
            return {str(key): self.of(member) for key, member in value.items()}
        if isinstance(value, list):
            return [self.of(member) for member in value]
        for kind in (bool, int, float, str):
            if isinstance(value, kind):
                return kind(value)
        return value
