"""A drafter tested alone during an investigation, where small weights and stored states lie on the host.

The files are read there, the drafter is calculated here; the outcome stands among the facts like the document of
`drafter eval --json`, so that checks judge either alike.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from specdoctor.core.errors import EXIT_OK, CheckpointError
from specdoctor.core.facts import Facts, FileFacts
from specdoctor.core.operations import Operations
from specdoctor.core.ports import Scene
from specdoctor.drafter.in_scene import TESTED, alone_as_trained, column_in_force, record_beside, target_shape

MOST_BYTES = 48 << 20
PIECE_BYTES = 8 << 20
STEPS = 6
LIMIT_S = 300.0
LISTED = "stored.txt"
GGUF = ".gguf"


def stored_test(scene: Scene, operations: Operations, *, before: Scene | None) -> Facts | None:
    """The facts with the outcome; None where there is nothing to test, or it is more than is read unasked.

    `before` is the scene of an earlier look: what was calculated then is kept while the same files lie there.
    """
    draft, view = scene.view.draft_path, scene.view
    listed = scene.facts.files.get(f"{draft}/{LISTED}")
    if draft is None or listed is None or view.draft_config is None or alone_as_trained(scene) is not None:
        return None
    key = f"{draft}/{TESTED}"
    old = before.facts.files if before is not None else {}
    known = old.get(key)
    if known is None or old.get(f"{draft}/{LISTED}") != listed:
        known = _calculated(scene, listed, operations)
    return scene.facts.model_copy(update={"files": {**scene.facts.files, key: known}}) if known is not None else None


def _calculated(scene: Scene, listed: FileFacts, operations: Operations) -> FileFacts | None:
    sizes = _sizes(listed.text or "")
    weights = [name for name in sizes if "/" not in name]
    states = next((name for name in sorted(sizes) if "/" in name), None)
    shape = target_shape(scene.view)
    record = record_beside(scene, shape) if shape is not None else None
    if states is None or record is None or record.doubt or sum(sizes[n] for n in (*weights, states)) > MOST_BYTES:
        return None
    with TemporaryDirectory(prefix="specdoctor-") as room:
        folder = Path(room)
        if not any(name.endswith(GGUF) for name in weights):  # such a file holds its own
            (folder / "config.json").write_text(json.dumps(scene.view.draft_config))
        try:
            for name in (*weights, states):
                _bring(operations, f"{listed.path}/{name}", sizes[name], folder / name)
            tested = _tested(scene, folder, states, record.states)
        except (OSError, CheckpointError):
            return None
    where = f"{listed.path}/{states}"
    return FileFacts(path=where, text=tested, size=sizes[states], mtime=listed.mtime)


def _sizes(text: str) -> Mapping[str, int]:
    """Name -> bytes, from lines "BYTES NAME"."""
    pairs = [line.partition(" ") for line in text.splitlines()]
    return {name: int(size) for size, _, name in pairs if size.isdigit() and name and ".." not in name.split("/")}


def _bring(operations: Operations, path: str, size: int, into: Path) -> None:
    into.parent.mkdir(parents=True, exist_ok=True)
    with into.open("wb") as file:
        for begin in range(0, size, PIECE_BYTES):
            file.write(operations.read_range(path, offset=begin, length=min(PIECE_BYTES, size - begin)))


def _tested(scene: Scene, folder: Path, states: str, trained: tuple[str, ...]) -> str:
    """The document of the test. Raises CheckpointError for files that cannot be calculated."""
    shape = target_shape(scene.view)
    column = column_in_force(scene, shape) if shape is not None else None
    served = column.states if column is not None and column.states is not None else trained
    (folder / "record.yaml").write_text(f"trained_on: [{', '.join(trained)}]\n")
    words = ["--draft", ".", "--states", states, "--training", "record.yaml", "--draft-steps", str(STEPS), "--json"]
    both = ["--feed", ",".join(served)] if served != trained else []
    return _same_before(folder, tuple(words + both)) or _same_before(folder, tuple(words)) or _fault(states)


def _fault(states: str) -> NoReturn:
    raise CheckpointError(
        f"{states}: the drafter cannot be calculated on it", next_step="specdoctor drafter eval says why"
    )


_done: dict[str, str] = {}


def _same_before(folder: Path, words: tuple[str, ...]) -> str:
    """What `drafter eval` prints, calculated once for the same files; empty where it fails.

    It runs in a process of its own, with one thread: those of a busy program wait for each other at each small matrix.
    """
    digest = hashlib.sha256(repr(words).encode())
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(path.read_bytes())
    key = digest.hexdigest()
    if key not in _done:
        env = {
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        argv = [sys.executable, "-m", "specdoctor", "drafter", "eval", *words]
        with suppress(subprocess.TimeoutExpired):
            shown = subprocess.run(
                argv, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
            if shown.returncode == EXIT_OK:
                _done[key] = shown.stdout
    return _done.get(key, "")
