"""The command that makes a corrected copy of a model's folder: pasted, it does what a run does with its own copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from pydantic import JsonValue

from specdoctor.core.hypothesis import ConfigEdit
from specdoctor.core.launch import CorrectedCopy


def making(copy: CorrectedCopy) -> str:
    """A new folder at `place`, links to the files, and config.json with its edits; it fails where `place` exists."""
    source, place = shlex.quote(copy.source), shlex.quote(copy.place)
    configs = [shlex.quote(f"{folder}/config.json") for folder in (copy.source, copy.place)]
    program = "; ".join(
        (
            "import json, sys",
            "c = json.load(open(sys.argv[1]))",
            *map(_statement, copy.edits),
            'json.dump(c, open(sys.argv[2], "x"), indent=2)',
        )
    )
    steps = (
        f"mkdir {place}",
        f"ln -s {source}/* {place}/",
        f"rm {configs[1]}",
        f"python3 -c {shlex.quote(program)} {' '.join(configs)}",
    )
    return " && ".join(steps)


def _statement(edit: ConfigEdit) -> str:
    *parents, last = (json.dumps(part) for part in edit.key.split("."))
    here = "c" + "".join(f".setdefault({parent}, {{}})" for parent in parents)
    return f"{here}.pop({last}, None)" if edit.value is None else f"{here}[{last}] = {_literal(edit.value)}"


def _literal(value: JsonValue) -> str:
    """The value as Python writes it, strings in double quotes: the program itself stands in single ones."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else repr(value)
