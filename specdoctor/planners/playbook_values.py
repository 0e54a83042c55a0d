"""Parameters of a playbook: what the file declares, what was given, and `$(name)` filled in wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from specdoctor.core.faults import Fault, unknown_word
from specdoctor.core.yaml_places import Place, YamlFile

Scalar = bool | int | float | str
REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_LITERAL = re.compile(r"\$(\$\([A-Za-z_][A-Za-z0-9_]*\))")
"""`$$(name)` stands for the text `$(name)`."""
AS_THEY_ARE = ("parameters", "recorded")
"""Parts of a file in which nothing is filled in."""
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_TRUTH = {"true": True, "false": False}


class WrongValue(Exception):
    """A value that is none of its parameter's kind; the message says which is meant."""


def declared(data: Any) -> dict[str, Scalar]:
    """The parameters of a file with their defaults; what is no declaration is left to the format's own faults."""
    found = data.get("parameters") if isinstance(data, dict) else None
    rows = found.items() if isinstance(found, dict) else ()
    return {
        name: row["default"]
        for name, row in rows
        if isinstance(row, dict) and isinstance(row.get("default"), bool | int | float | str)
    }


def of_kind(default: Scalar, given: Scalar) -> Scalar:
    """A given value, or its text on a command line, as the kind that the default is of. Raises WrongValue."""
    kind = type(default)
    try:
        if kind is bool:
            return given if isinstance(given, bool) else _TRUTH[str(given).lower()]
        if kind is str:
            return str(given).lower() if isinstance(given, bool) else str(given)
        if isinstance(given, bool) or (kind is int and isinstance(given, float)):
            raise ValueError
        return kind(given)
    except (KeyError, ValueError):
        raise WrongValue(f"must be {_KINDS[kind]} as its default {_text(default)} is, got {_text(given)}") from None


def filled(file: YamlFile, values: Mapping[str, Scalar]) -> tuple[Any, list[Fault]]:
    """The data of a file with its parameters filled in; faults: names that none has, parameters that none uses."""
    walk = _Walk(file, values)
    data = walk.of(file.data, ())
    unused = [name for name in values if name not in walk.used]
    for name in unused:
        walk.fault(("parameters", name), f"$({name}) stands nowhere in the file")
    return data, walk.faults


def as_written(text: str) -> str:
    """A text that is to stay as it is, for a place where parameters are filled in."""
    return REFERENCE.sub(lambda found: f"${found[0]}", text)


class _Walk:
    def __init__(self, file: YamlFile, values: Mapping[str, Scalar]) -> None:
        self._file = file
        self._values = values
        self.used: set[str] = set()
        self.faults: list[Fault] = []

    def fault(self, place: Place, message: str) -> None:
        line, column = self._file.find(place)
        key = ".".join(str(part) for part in place)
        self.faults.append(Fault(line=line, column=column, key=re.sub(r"\.(\d+)", r"[\1]", key), message=message))

    def of(self, value: Any, place: Place) -> Any:
        if isinstance(value, dict):
            return {k: v if not place and k in AS_THEY_ARE else self.of(v, (*place, k)) for k, v in value.items()}
        if isinstance(value, list):
            return [self.of(item, (*place, number)) for number, item in enumerate(value)]
        return self._text(value, place) if isinstance(value, str) else value

    def _text(self, text: str, place: Place) -> Scalar:
        """A text with its references filled in; one that is a reference and nothing else becomes the value itself."""
        for name in dict.fromkeys(REFERENCE.findall(text)):
            if name not in self._values:
                self.fault(place, unknown_word("parameter", name, list(self._values)))
                return text
            self.used.add(name)
        whole = REFERENCE.fullmatch(text)
        if whole is not None:
            return self._values[whole[1]]
        return _LITERAL.sub(r"\1", REFERENCE.sub(lambda found: _text(self._values[found[1]]), text))


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
