"""The records of a run as its guard remembers them."""

import contextlib
import os
from typing import Any, Dict, Tuple

from specdoctor.remote.parts.guard_story import GUARD
from specdoctor.remote.parts.lease import LEASE
from specdoctor.remote.parts.records import names_in, note_json, read_json, touched_at
from specdoctor.remote.parts.run_dir import WAY_BACK


class FolderMemory:
    """What a guard keeps of the run's folder, so that one that somebody has removed is there again."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.kept: Dict[str, Tuple[float, Any]] = {}

    def keep(self) -> None:
        """Take in what is new, then write what is gone."""
        for name in names_in(self.folder):
            if (name.startswith("action-") and name.endswith(".json")) or name in (WAY_BACK, LEASE, GUARD):
                self._take_in(name)
        gone = [name for name in self.kept if not os.path.lexists(self.folder + "/" + name)]
        if not gone:
            return
        with contextlib.suppress(OSError):
            os.makedirs(self.folder, 0o700, exist_ok=True)
        for name in gone:
            note_json(self.folder + "/" + name, self.kept[name][1])

    def _take_in(self, name: str) -> None:
        at = touched_at(self.folder + "/" + name)
        if name not in self.kept or self.kept[name][0] != at:
            found = read_json(self.folder + "/" + name)
            if found is not None:
                self.kept[name] = (at, found)
