"""A drafter's config.json with what can be repaired in it, written elsewhere: the old one is never touched."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.app.checkpoint_reading import CONFIG, LARGEST_CONFIG
from specdoctor.app.model_files import ModelFiles
from specdoctor.app.wiring import WiringDocument
from specdoctor.core.errors import UsageError
from specdoctor.core.hypothesis import ConfigEdit, edited
from specdoctor.core.model import Frozen
from specdoctor.drafter.comparison import EngineChoice
from specdoctor.drafter.json_text import json_object
from specdoctor.drafter.rules.table import ENGINES


class Written(Frozen):
    """Where the corrected configuration went, what is other in it, and which engine version it is for ("" as asked).

    `next` is what to do with it.
    """

    path: str
    changes: tuple[str, ...]
    needs: str
    next: str


def write_fix(
    found: WiringDocument, draft: ModelFiles, folder: Path, *, choice: EngineChoice | None = None
) -> Written | None:
    """Write FOLDER/config.json; None where no finding is repaired by a configuration. `choice` is who serves it.

    Raises UsageError for a file that is there already, for a folder that cannot be written, and for a GGUF file.
    """
    edits = _agreed([edit for finding in found.findings if finding.status == "supported" for edit in finding.edits])
    if not edits:
        return None
    if CONFIG not in draft.entries:
        raise UsageError(
            f"{draft.label}: a GGUF file has no config.json to correct",
            next_step="give the folder that the file was made from, then make it again",
        )
    old = json_object(draft.whole(CONFIG, limit=LARGEST_CONFIG), draft.full(CONFIG))
    path = folder / CONFIG
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(json.dumps(edited(old, edits), indent=2, ensure_ascii=False) + "\n")
    except FileExistsError as error:
        raise UsageError(f"{path} is there already: it is not written over", next_step="name another folder") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", next_step="name a folder that you may write to") from error
    needs = next((edit.needs for edit in edits if edit.needs), "")
    changes = tuple(_words(old, edit) for edit in edits)
    return Written(path=str(path), changes=changes, needs=needs, next=_next(choice, needs))


def _next(choice: EngineChoice | None, needs: str) -> str:
    """What to do with the file, by what the engine loads and whether its version can serve it."""
    beside = "put it beside links to the drafter's other files"
    if choice is not None and ENGINES[choice.name].builds:
        title = ENGINES[choice.name].title
        return f"{beside}, make the GGUF file again from that folder ({title} loads no folder), and start it with that"
    if needs:
        return f"{beside}, and start {needs} or later with that folder, not the version asked about"
    return f"{beside}, and start the server with that folder"


def _agreed(edits: Sequence[ConfigEdit]) -> tuple[ConfigEdit, ...]:
    """Each key once, the first finding's."""
    return tuple({edit.key: edit for edit in reversed(edits)}.values())[::-1]


def _words(old: Mapping[str, Any], edit: ConfigEdit) -> str:
    before: Any = old
    for part in edit.key.split("."):
        before = before.get(part) if isinstance(before, Mapping) else None
    was = json.dumps(before) if before is not None else "absent"
    return f"{edit.key}: {was} -> {json.dumps(edit.value) if edit.value is not None else 'taken out'}"
