"""The format of playbooks as a JSON schema for editors, made from the types that read them."""

from __future__ import annotations

from typing import Any

from specdoctor.planners.playbook_schema import Playbook

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT_OR_LIST = ("check", "status", "role", "verdict")
"""Keys that take one word in place of a list of one."""


def playbook_schema() -> dict[str, Any]:
    """The schema; what a list of words is for the reader may be one word in a file."""
    found = Playbook.model_json_schema()
    for definition in found.get("$defs", {}).values():
        for name, member in definition.get("properties", {}).items():
            if name in _TEXT_OR_LIST and member.get("type") == "array":
                definition["properties"][name] = _one_or_more(member)
    return {"$schema": _DIALECT, "title": "specdoctor playbook", **found}


def _one_or_more(member: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: member[key] for key in ("default", "title") if key in member}
    listed = {key: value for key, value in member.items() if key not in kept}
    return {**kept, "anyOf": [member["items"], listed]}
