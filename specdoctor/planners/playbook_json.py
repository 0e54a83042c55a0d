"""The format of playbooks as a JSON schema for editors, made from the types that read them."""

from __future__ import annotations

from typing import Any

from specdoctor.planners.playbook_schema import PlaybookFile
from specdoctor.planners.playbook_values import REFERENCE

_AS_THEY_ARE = ("Recorded", "Parameter", "IncludeStep")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT_OR_LIST = ("check", "status", "role", "verdict")
"""Keys that take one word in place of a list of one."""


def playbook_schema() -> dict[str, Any]:
    """The schema; what a list of words is for the reader may be one word in a file."""
    found = PlaybookFile.model_json_schema()
    for title, definition in found.get("$defs", {}).items():
        for name, member in definition.get("properties", {}).items():
            if name in _TEXT_OR_LIST and member.get("type") == "array":
                definition["properties"][name] = _one_or_more(member)
            elif not title.startswith(_AS_THEY_ARE):
                definition["properties"][name] = _or_parameter(member)
    return {"$schema": _DIALECT, "title": "specdoctor playbook", **found}


def _or_parameter(member: dict[str, Any]) -> dict[str, Any]:
    """A number, a truth or one of some words, for which a parameter may stand."""
    forms = member.get("anyOf", [member])
    if not any(form.get("type") in ("integer", "number", "boolean") or "enum" in form for form in forms):
        return member
    kept: dict[str, Any] = {key: member[key] for key in ("default", "title") if key in member}
    plain = [{key: value for key, value in form.items() if key not in kept} for form in forms]
    return {**kept, "anyOf": [*plain, {"type": "string", "pattern": f"^{REFERENCE.pattern}$"}]}


def _one_or_more(member: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: member[key] for key in ("default", "title") if key in member}
    listed = {key: value for key, value in member.items() if key not in kept}
    return {**kept, "anyOf": [member["items"], listed]}
