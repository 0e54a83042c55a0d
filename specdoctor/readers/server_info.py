"""What a server said of itself: /server_info, /get_server_info, /props, /v1/models, /version."""

from __future__ import annotations

from typing import NamedTuple

from specdoctor.core.reader import Reading
from specdoctor.readers.json_file import object_of

_MARKS = (
    frozenset({"model_path", "speculative_algorithm"}),
    frozenset({"internal_states"}),
    frozenset({"default_generation_settings", "total_slots"}),
    frozenset({"vllm_config"}),
    frozenset({"object", "data"}),
)


class _Reader(NamedTuple):
    name: str = "server_info"
    summary: str = "a server's answer about itself"
    rank: int = 8

    def read(self, text: str, *, where: str) -> Reading | None:
        found = object_of(text)
        return Reading(kind="server info") if found and any(marks <= set(found) for marks in _MARKS) else None


reader = _Reader()
