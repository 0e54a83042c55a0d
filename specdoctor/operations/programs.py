"""The programs for the target host as text: each is joined from its modules into one file that needs nothing else.

The sources live in `specdoctor.remote` and import each other there, so that type checker, linter and reader see
ordinary modules. Joined, the imports among them are dropped and each module stands before those that need it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import JsonValue

from specdoctor.core.operations import SnapshotRequest

ProgramName = Literal["probe", "watch", "bench", "job", "lifecycle", "contact", "export_states", "installed"]
PACKAGE = "specdoctor.remote"
HTTP_TIMEOUT_S = 3.0
OWN_IMPORT = re.compile(rf"^from {re.escape(PACKAGE)}\.([\w.]+) import (?:\([^)]*\)|[^\n(]*)\n", re.MULTILINE)
PARAMS_LINE = 'PARAMS_JSON = "{}"\n'


@cache
def source(name: str) -> str:
    """The text of one module of the remote package (`probe`, `parts.procfs`), as it lies on disk."""
    *folders, module = name.split(".")
    return resources.files(PACKAGE).joinpath(*folders, f"{module}.py").read_text(encoding="utf-8")


def parts_of(name: str) -> tuple[str, ...]:
    """The modules that `name` is joined from, itself last."""
    ordered: list[str] = []

    def visit(module: str) -> None:
        for imported in OWN_IMPORT.finditer(source(module)):
            if imported[1] not in ordered:
                visit(imported[1])
        if module not in ordered:
            ordered.append(module)

    visit(name)
    return tuple(ordered)


@cache
def joined_parts(name: str) -> str:
    """A module and all it needs as one text, without parameters."""
    return "\n\n".join(OWN_IMPORT.sub("", source(part)).strip("\n") for part in parts_of(name)) + "\n"


def program_text(name: ProgramName, params: dict[str, JsonValue]) -> str:
    """The program with its parameters inside, ready for the standard input of `python3 -`."""
    literal = json.dumps(json.dumps(params))
    return joined_parts(name).replace(PARAMS_LINE, f"PARAMS_JSON = {literal}\n", 1)


def shell_probe() -> str:
    """The fall-back probe for a host without any Python: a POSIX shell script."""
    return resources.files(PACKAGE).joinpath("probe.sh").read_text(encoding="utf-8")


def probe_params(request: SnapshotRequest) -> dict[str, JsonValue]:
    return {
        "ports": list(request.ports),
        "files": list(request.files),
        "logs": list(request.logs),
        "log_bytes": request.log_bytes,
        "http": request.http,
        "http_timeout_s": HTTP_TIMEOUT_S,
        "history": request.history,
    }


def probe_program(request: SnapshotRequest) -> str:
    """The probe as a file that anybody can read, copy to a host and run there: `python3 probe.py > facts.json`."""
    head = (
        "#!/usr/bin/env python3\n# Reads, never writes; prints one JSON document. Run: python3 probe.py > facts.json\n"
    )
    return head + program_text("probe", probe_params(request))
