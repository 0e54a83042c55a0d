"""docs/events.md: the format of a run's event log, read from the JSON schema of the event union."""

from __future__ import annotations

import json

from pydantic import JsonValue

from specdoctor.core.events import event_adapter

Schema = dict[str, JsonValue]

ANY_JSON = "JsonValue"  # pydantic's name for what may be any JSON

INTRODUCTION = """\
# Events

A run is an append-only list of events, one JSON object a line. The ledger, the screen and the report are made from it.
`kind` tells the events apart; `at` is in seconds since the epoch, by the clock of the machine that specdoctor runs on.
An event is never edited: a correction is a new event.
"""


def events_page() -> str:
    """The whole page: each kind of event with its fields, then the types that the fields are made of."""
    schema: Schema = event_adapter.json_schema()
    definitions = _objects(schema["$defs"])
    names = [_referred(option) for option in _list(schema["oneOf"])]
    lines = [INTRODUCTION]
    for name in names:
        definition = definitions[name]
        kind = _schema(_schema(definition["properties"])["kind"])["const"]
        lines += [f"## {kind}", "", *_body(definition, without={"kind", "at"})]
    lines += ["## Types", ""]
    for name in sorted(set(definitions) - set(names) - {ANY_JSON}):
        lines += [f"### {name}", "", *_body(definitions[name], without=set())]
    return "\n".join(lines).rstrip() + "\n"


def _body(definition: Schema, *, without: set[str]) -> list[str]:
    """Description of a type, then its fields or its values."""
    lines: list[str] = []
    if text := definition.get("description"):
        lines += [" ".join(str(text).split()), ""]
    if values := definition.get("enum"):
        lines += ["One of " + ", ".join(f"`{json.dumps(value)}`" for value in _list(values)) + ".", ""]
    required = _list(definition.get("required", []))
    rows = [
        f"| `{name}` | {_type(field)} | {'required' if name in required else _default(field)} |"
        for name, field in _objects(definition.get("properties", {})).items()
        if name not in without
    ]
    if rows:
        lines += ["| field | type | default |", "|---|---|---|", *rows, ""]
    return lines


def _default(field: Schema) -> str:
    return f"`{json.dumps(field['default'], ensure_ascii=False)}`" if "default" in field else "empty"


def _type(field: Schema) -> str:
    """The type of a field in words; a type with a section of its own is linked."""
    match field:
        case {"$ref": _}:
            name = _referred(field)
            return "any JSON" if name == ANY_JSON else f"[{name}](#{name.lower()})"
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"enum": list(values)}:
            return ", ".join(f"`{json.dumps(value)}`" for value in values)
        case {"anyOf": list(options)} | {"oneOf": list(options)}:
            return " or ".join(_type(_schema(option)) for option in options)
        case {"type": "array"}:
            return f"list of {_items(field)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object of {_type(_schema(values))}"
        case {"type": str(name)}:
            return name
        case _:
            return "any JSON"


def _items(field: Schema) -> str:
    """Type of the members of an array; in parentheses, one for each place, if their number is fixed."""
    if "prefixItems" in field:
        return f"({', '.join(_type(_schema(item)) for item in _list(field['prefixItems']))})"
    return _type(_schema(field.get("items", {})))


def _referred(value: JsonValue) -> str:
    return str(_schema(value)["$ref"]).rpartition("/")[2]


def _schema(value: JsonValue) -> Schema:
    if isinstance(value, bool):  # true stands for a schema that everything meets
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"not a JSON schema: {value!r}")
    return value


def _objects(value: JsonValue) -> dict[str, Schema]:
    return {name: _schema(member) for name, member in _schema(value).items()}


def _list(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise TypeError(f"not a list in a JSON schema: {value!r}")
    return value
