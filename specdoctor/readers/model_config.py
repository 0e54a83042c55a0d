"""A model's config.json. Whose it is, `core.config_roles` says for all files together."""

from __future__ import annotations

from typing import NamedTuple

from specdoctor.core.config_roles import is_model_config
from specdoctor.core.material import Material, ModelConfig
from specdoctor.core.reader import Reading
from specdoctor.readers.json_file import object_of


class _Reader(NamedTuple):
    name: str = "model_config"
    summary: str = "config.json of a target or a drafter"
    rank: int = 10

    def read(self, text: str, *, where: str) -> Reading | None:
        found = object_of(text)
        if found is None or not is_model_config(found):
            return None
        config = ModelConfig(where=where, role="unknown", content=found)
        return Reading(kind="model config", pieces=Material(configs=(config,)))


reader = _Reader()
