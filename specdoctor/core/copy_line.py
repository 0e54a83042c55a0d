"""The command that makes a corrected copy of a model's folder: pasted, it does what a run does with its own copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from pydantic import JsonValue

from specdoctor.core.hypothesis import ConfigEdit
from specdoctor.core.launch import CorrectedCopy


def making(copy: CorrectedCopy) -> str:
    """A new folder at `place`: links to the files, and config.json with its edits, as `hypothesis.edited` makes them.

    One command for any shell. It is made beside `place` and moved there whole; where it fails, because `place` exists
    or the configuration is no JSON object, nothing is left of it.
    """
    program = "; ".join((*_READ, *(line for edit in copy.edits for line in _statements(edit)), *_WRITE))
    return " ".join(("python3 -c", shlex.quote(program), shlex.quote(copy.source), shlex.quote(copy.place)))


_READ = (
    "import json, os, pathlib, sys, tempfile",
    "source, place = map(os.path.abspath, sys.argv[1:])",
    'c = json.loads(pathlib.Path(source, "config.json").read_bytes().decode())',
)
_WRITE = (
    "text = json.dumps(c, indent=2)",
    "room = tempfile.TemporaryDirectory(dir=os.path.dirname(place))",
    'made = pathlib.Path(room.name, "made")',
    "made.mkdir()",
    '[(made / n).symlink_to(source + "/" + n) for n in os.listdir(source) if n not in ["config.json"]]',
    '(made / "config.json").write_text(text)',
    "os.mkdir(place)",
    "os.rename(str(made), place)",
)


def _statements(edit: ConfigEdit) -> list[str]:
    """The edit in Python; a parent that is missing or no object (null, a list) becomes one."""
    *parents, last = (json.dumps(part) for part in edit.key.split("."))
    within = [
        f"here[{parent}] = here = here[{parent}] if isinstance(here.get({parent}), dict) else {{}}"
        for parent in parents
    ]
    done = f"here.pop({last}, None)" if edit.value is None else f"here[{last}] = {_literal(edit.value)}"
    return ["here = c", *within, done]


def _literal(value: JsonValue) -> str:
    """The value as Python writes it, strings in double quotes: the program itself stands in single ones."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else repr(value)
