"""The records of a run as its guard remembers them."""

import contextlib
import os
import time
from typing import Any, Dict, Optional, Tuple

from specdoctor.remote.parts.guard_story import GUARD
from specdoctor.remote.parts.lease import LEASE
from specdoctor.remote.parts.records import mark_of, marks_of, names_in, note_json, read_json
from specdoctor.remote.parts.run_dir import WAY_BACK, make_base

MEMORY_LOOK_S = 0.05
"""A record that is younger than this goes with its folder: long against a write, short against a person's `rm`."""


class FolderMemory:
    """What a guard keeps of the run's folder, so that one that somebody has removed is there again."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.kept: Dict[str, Tuple[Any, Any]] = {}
        self._seen: Optional[Tuple[int, ...]] = None

    def watch(self, wait_s: float) -> None:
        """Keep what changes for so long: a record is known soon after it was written, not at the next round."""
        end = time.monotonic() + wait_s
        self.keep()
        while time.monotonic() < end:
            time.sleep(max(0.0, min(MEMORY_LOOK_S, end - time.monotonic())))
            seen = mark_of(self.folder)
            if seen != self._seen:
                self.keep()
                self._seen = seen  # of before: what came meanwhile is another one

    def keep(self) -> None:
        """Take in what is new, then write what is gone."""
        for name in names_in(self.folder):
            if (name.startswith("action-") and name.endswith(".json")) or name in (WAY_BACK, LEASE, GUARD):
                self._take_in(name)
        gone = [name for name in self.kept if not os.path.lexists(self.folder + "/" + name)]
        if not gone:
            return
        with contextlib.suppress(OSError):
            make_base(os.path.dirname(self.folder))
            os.makedirs(self.folder, 0o700, exist_ok=True)
        for name in gone:
            note_json(self.folder + "/" + name, self.kept[name][1])

    def _take_in(self, name: str) -> None:
        marks = marks_of(self.folder + "/" + name)
        if name not in self.kept or self.kept[name][0] != marks:
            found = read_json(self.folder + "/" + name)
            if found is not None:
                self.kept[name] = (marks, found)
