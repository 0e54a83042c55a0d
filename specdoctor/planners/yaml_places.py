"""YAML with the line and column of everything in it, so that a fault can be pointed at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import Fault, refusal

Place = tuple[str | int, ...]


class YamlFile:
    """Plain data, and where each part of it stands."""

    def __init__(self, path: Path, data: Any, marked: Any) -> None:
        self.path = path
        self.data = data
        self._marked = marked

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


def read_yaml(path: Path) -> YamlFile:
    """Read one document. Raises UsageError for a file that cannot be read or is no YAML, with line and column."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", next_step="give the path of a readable YAML file") from error
    reader = YAML(typ="rt")
    reader.allow_duplicate_keys = False
    try:
        marked = reader.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        said = " ".join(str(error.problem or error.context or error).split())
        raise refusal(str(path), [Fault(line=line, column=column, key="(syntax)", message=said)]) from error
    except YAMLError as error:
        said = " ".join(str(error).split())
        raise refusal(str(path), [Fault(line=1, column=1, key="(syntax)", message=said)]) from error
    return YamlFile(path, _plain(marked), marked)


def _plain(value: Any) -> Any:
    """The reader's own types as those of the language."""
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value
