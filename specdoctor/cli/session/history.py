"""What was typed before, across sessions: a file that only its owner reads, without secrets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import History

from specdoctor.core.clean import one_line
from specdoctor.core.typed_secrets import redact_typed

MOST = 500


class KeptHistory(History):
    """Lines in a file, the newest last. A file that cannot be read or written is no reason to stop anything."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """The newest first."""
        with suppress(OSError, UnicodeDecodeError):
            return list(reversed(self._path.read_text(encoding="utf-8").splitlines()[-MOST:]))
        return []

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with os.fdopen(os.open(self._path, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(redact_typed(one_line(string)) + "\n")
