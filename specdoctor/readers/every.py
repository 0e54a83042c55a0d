"""All readers, and the filling of `Material` from files: a new file in this folder needs no list to be put on."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping

from specdoctor import readers
from specdoctor.core.config_roles import config_roles
from specdoctor.core.material import FileSeen, Material
from specdoctor.core.reader import Reader
from specdoctor.core.redact import redact

LARGEST_CHARS = 8 << 20
"""A text beyond this is a log, or nothing that a reader of small files knows."""
LARGEST_KEPT_CHARS = 2 << 20


@functools.cache
def every_reader() -> tuple[Reader, ...]:
    """Every reader, in the order in which they are asked."""
    modules = [importlib.import_module(f"{readers.__name__}.{m.name}") for m in pkgutil.iter_modules(readers.__path__)]
    found: list[Reader] = [module.reader for module in modules if hasattr(module, "reader")]
    return tuple(sorted(found, key=lambda reader: (reader.rank, reader.name)))


def material_of(texts: Mapping[str, str], problems: Mapping[str, str] | None = None) -> Material:
    """What the files hold beside a server's own log. `problems`: of files without a text, or with a part of it."""
    found = Material()
    for where, text in texts.items():
        found = found.joined(read_one(text, where))
    said = dict(problems or {})
    files = tuple(f.model_copy(update={"problem": f.problem or said.get(f.where, "")}) for f in found.files)
    lost = tuple(FileSeen(where=w, kind="unreadable", problem=why) for w, why in said.items() if w not in texts)
    found = found.model_copy(update={"files": files + lost})
    return _with_roles(found, texts)


def read_one(text: str, where: str) -> Material:
    """The pieces of one file, with what it is."""
    if len(text) > LARGEST_CHARS:
        logs = [r for r in every_reader() if r.name == "server_log"]
        read = next((got for r in logs if (got := r.read(text, where=where)) is not None), None)
        problem = "" if read else f"longer than {LARGEST_CHARS >> 20} MiB and no server's log"
        seen = FileSeen(
            where=where, kind=read.kind if read else "text", problem=problem, engine=read.engine if read else None
        )
        return Material(files=(seen,))
    found = Material()
    kind, problem, engine = None, "", None
    rest: str | None = text
    for reader in every_reader():
        if rest is None:
            break
        read = reader.read(rest, where=where)
        if read is None:
            continue
        found = found.joined(read.pieces)
        kind, problem, rest = kind or read.kind, problem or read.problem or _refused(read.pieces), read.rest
        engine = engine or read.engine
    kept = {where: redact(text)} if len(text) <= LARGEST_KEPT_CHARS else {}
    seen = FileSeen(where=where, kind=kind or "text", problem=problem, engine=engine)
    return found.joined(Material(files=(seen,), texts=kept))


def _refused(pieces: Material) -> str:
    """What tables have in cells that do not fit, as the end of a sentence; "" where all fit."""
    said = [words for table in pieces.tables for words in table.refused]
    return f"is read but for {len(said)} cell{'s' if said[1:] else ''}: {'; '.join(said)}" if said else ""


def _with_roles(found: Material, texts: Mapping[str, str]) -> Material:
    launches = [texts[f.where] for f in found.files if f.kind == "launch line" and f.where in texts]
    roles = config_roles({c.where: c.content for c in found.configs}, launches)
    configs = tuple(c.model_copy(update={"role": roles.get(c.where, "unknown")}) for c in found.configs)
    return found.model_copy(update={"configs": configs})
