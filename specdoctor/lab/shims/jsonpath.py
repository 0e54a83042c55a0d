"""kubectl's jsonpath, as far as fields, indices, `[*]` and `{"text"}` go."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


def filled(form: str, document: Any) -> str:
    """The text of a template such as `{.status.phase}{"\\n"}`; what is not there is empty."""
    return re.sub(r"\{(.*?)\}", lambda match: _one(match[1].strip(), document), form)


def _one(text: str, document: Any) -> str:
    if text[:1] in "\"'":
        return text[1:-1].replace("\\n", "\n").replace("\\t", "\t")
    found = [document]
    for name, index in re.findall(r"\.((?:\\\.|[\w/-])+)|\[([^\]]*)\]", text):
        found = [each for one in found for each in _step(one, name.replace("\\.", "."), index)]
    return " ".join(each if isinstance(each, str) else json.dumps(each) for each in found)


def _step(value: Any, name: str, index: str) -> list[Any]:
    if name:
        return [value[name]] if isinstance(value, Mapping) and name in value else []
    if index == "*":
        return list(value) if isinstance(value, list) else list(value.values()) if isinstance(value, Mapping) else []
    if index.lstrip("-").isdecimal() and isinstance(value, list) and -len(value) <= int(index) < len(value):
        return [value[int(index)]]
    quoted = index.strip("'\"")
    return [value[quoted]] if isinstance(value, Mapping) and quoted in value else []
