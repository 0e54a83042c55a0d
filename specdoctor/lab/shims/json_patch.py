"""Patches of Kubernetes objects: JSON patch, merge patch, strategic merge patch (lists of containers and variables)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MERGED_BY = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
}


class PatchFault(Exception):
    """A patch that does not fit; the text is the server's."""


def json_patch(document: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """RFC 6902: add, replace, remove, test. Raises PatchFault."""
    out: dict[str, Any] = json.loads(json.dumps(document))
    if not isinstance(patch, list):
        raise PatchFault("the server could not understand the request: json patch has to be a list")
    for step in patch:
        words = [word.replace("~1", "/").replace("~0", "~") for word in str(step.get("path", "")).split("/")[1:]]
        _apply(out, words, step)
    return out


def _apply(out: Any, words: list[str], step: Mapping[str, Any]) -> None:
    place = out
    try:
        for word in words[:-1]:
            place = place[int(word)] if isinstance(place, list) else place[word]
        last: Any = words[-1]
        if isinstance(place, list) and last != "-":
            last = int(last)
        if step["op"] == "add" and isinstance(place, list):
            place.insert(len(place) if last == "-" else last, step["value"])
        elif step["op"] == "add":
            place[last] = step["value"]
        elif step["op"] == "replace":
            _ = place[last]
            place[last] = step["value"]
        elif step["op"] == "remove":
            del place[last]
        elif step["op"] == "test" and place[last] != step["value"]:
            raise PatchFault(f"the server rejected our request: testing path {step['path']} failed")
        elif step["op"] not in ("test",):
            raise PatchFault(f"the server rejected our request: unexpected kind: {step['op']}")
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise PatchFault("the server rejected our request due to an error in our request") from error


def merge_patch(document: Any, patch: Any) -> Any:
    """RFC 7386: mappings merge, null removes, all else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    out = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge_patch(out.get(key), value)
    return out


def strategic_patch(document: Any, patch: Any, key: str = "") -> Any:
    """Like a merge patch, but lists of named things merge by their name."""
    if isinstance(patch, list) and isinstance(document, list) and key in MERGED_BY:
        name = MERGED_BY[key]
        out_list = [dict(each) for each in document]
        for each in patch:
            at = next((i for i, old in enumerate(out_list) if old.get(name) == each.get(name)), None)
            if at is None:
                out_list.append(each)
            elif each.get("$patch") == "delete":
                out_list.pop(at)
            else:
                out_list[at] = strategic_patch(out_list[at], each)
        return out_list
    if not isinstance(patch, Mapping):
        return patch
    out = dict(document) if isinstance(document, Mapping) else {}
    for each, value in patch.items():
        if value is None:
            out.pop(each, None)
        else:
            out[each] = strategic_patch(out.get(each), value, each)
    return out
