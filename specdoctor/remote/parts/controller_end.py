"""The last word of whoever steered a run: that nobody steers it any more, and how that came."""

import time
from typing import Any, Dict, Optional

from specdoctor.remote.parts.records import note_json, read_json, touched_at
from specdoctor.remote.parts.run_dir import END_TOLD, contact_at

WORDS_LIMIT = 300


def note_end(folder: str, said: Dict[str, Any]) -> None:
    """Keep it. The guard watches on as before: what is not put back by then, it puts back."""
    code = said.get("exit_code")
    words = "".join(letter if letter.isprintable() else " " for letter in str(said.get("words") or ""))
    exit_code = None if code is None else int(code)
    note_json(folder + "/" + END_TOLD, {"at": time.time(), "exit_code": exit_code, "words": words[:WORDS_LIMIT]})


def told_end(folder: str) -> Optional[Dict[str, Any]]:
    """What was said; None where nothing was, or where somebody was in touch since."""
    if touched_at(folder + "/" + END_TOLD) < contact_at(folder):
        return None
    found: Optional[Dict[str, Any]] = read_json(folder + "/" + END_TOLD)
    return found
