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
from specdoctor.drafter.json_text import json_object


class Written(Frozen):
    """Where the corrected configuration went, what is other in it, and which engine version it is for ("" as asked)."""

    path: str
    changes: tuple[str, ...]
    needs: str


def write_fix(found: WiringDocument, draft: ModelFiles, folder: Path) -> Written | None:
    """Write FOLDER/config.json; None where no finding is repaired by a configuration.

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
    return Written(path=str(path), changes=tuple(_words(old, edit) for edit in edits), needs=needs)


def _agreed(edits: Sequence[ConfigEdit]) -> tuple[ConfigEdit, ...]:
    """Each key once, the first finding's."""
    return tuple({edit.key: edit for edit in reversed(edits)}.values())[::-1]


def _words(old: Mapping[str, Any], edit: ConfigEdit) -> str:
    before: Any = old
    for part in edit.key.split("."):
        before = before.get(part) if isinstance(before, Mapping) else None
    was = json.dumps(before) if before is not None else "absent"
    return f"{edit.key}: {was} -> {json.dumps(edit.value) if edit.value is not None else 'taken out'}"
