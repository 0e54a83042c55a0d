"""A model's folder once more, as links to its files, with another config.json: the folder itself is only read."""

import contextlib
import copy
import json
import os
import re
import shutil
from typing import Any, Dict, List

from specdoctor.remote.parts.answer import Refusal

CONFIG = "config.json"
LARGEST_CONFIG = 4 << 20
MOST_FILES = 2000
PLACE = re.compile(r"^/[^\"'\\\x00-\x1f]+$")
"""A path that can stand for another in a JSON value of a launch line as well."""


def with_copy(folder: str, record: Dict[str, Any], order: Dict[str, Any]) -> Dict[str, Any]:
    """The order with its copy made and named in the launch line by where it lies. Raises Refusal, with nothing made."""
    asked = order["change"].get("copies")
    if not asked:
        return order
    if record["keeper"]["kind"] != "plain" or record["uid"] != os.geteuid():
        raise Refusal("other-surroundings", "the server may not see a folder that this login makes: a keeper or "
                      "another user starts it", "correct the config.json by hand")  # fmt: skip
    source, kept = str(asked["source"]), asked.get("kept")
    known = "%s/copy-%s/%s" % (folder, order["action"], os.path.basename(source.rstrip("/")))
    place = str(kept or known)
    for path in (source, place):
        if not PLACE.match(path):
            raise Refusal("bad-path", "%r is no whole path that can be named in a launch line" % path)
    if not kept and os.path.isdir(place):
        shutil.rmtree(place)  # of a try whose answer was lost
    try:
        made_copy(source, place, asked["edits"])
    except OSError as error:
        raise Refusal("no-copy", "no copy of %s could be made at %s: %s" % (source, place, error)) from error
    named = str(kept or source + "-corrected")
    asked_flags = order["change"]["set_flags"].items()
    flags = {flag: [word.replace(named, place) for word in words] for flag, words in asked_flags}
    return dict(order, change=dict(order["change"], set_flags=flags))


def made_copy(source: str, place: str, edits: List[Dict[str, Any]]) -> None:
    """Make the copy. Raises OSError and Refusal; then nothing is left of it."""
    config = edited(read_config(source), edits)
    names = [name for name in sorted(os.listdir(source)) if name != CONFIG]
    if len(names) > MOST_FILES:
        raise Refusal("no-copy", "%s holds %d entries, too many for a model's folder" % (source, len(names)))
    os.makedirs(os.path.dirname(place), exist_ok=True)
    os.mkdir(place)
    try:
        for name in names:
            os.symlink(os.path.join(os.path.realpath(source), name), os.path.join(place, name))
        with open(os.path.join(place, CONFIG), "x", encoding="utf-8") as stream:
            stream.write(json.dumps(config, indent=2) + "\n")
    except OSError:
        shutil.rmtree(place, ignore_errors=True)
        raise


def read_config(source: str) -> Dict[str, Any]:
    """The config.json of a folder. Raises OSError and Refusal."""
    path = os.path.join(source, CONFIG)
    with open(path, "rb") as stream:
        raw = stream.read(LARGEST_CONFIG + 1)
    found = None
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(raw.decode("utf-8"))
    if len(raw) > LARGEST_CONFIG or not isinstance(found, dict):
        raise Refusal("no-copy", "%s is no configuration: a JSON object of at most 4 MiB" % path)
    return found


def edited(config: Dict[str, Any], edits: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The same as `specdoctor.core.hypothesis.edited`, held together by a test."""
    new = copy.deepcopy(config)
    for edit in edits:
        path = str(edit["key"]).split(".")
        here = new
        for parent in path[:-1]:
            inner = here.get(parent)
            here[parent] = dict(inner) if isinstance(inner, dict) else {}
            here = here[parent]
        if edit.get("value") is None:
            here.pop(path[-1], None)
        else:
            here[path[-1]] = edit["value"]
    return new
