"""Snapshots of rendered text: compared with a stored file, rewritten by `REFRESH_SNAPSHOTS=1 pytest tests/render`."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def check_snapshot(name: str, text: str) -> None:
    """Fail with a diff if `text` is not what `snapshots/<name>` holds."""
    path = FOLDER / name
    text = text.rstrip("\n") + "\n"
    if os.environ.get("REFRESH_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    stored = path.read_text(encoding="utf-8")
    diff = "".join(difflib.unified_diff(stored.splitlines(True), text.splitlines(True), name, "now"))
    assert not diff, f"{name} has changed; if that is meant, refresh it:\n{diff}"
