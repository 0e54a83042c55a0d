"""Where a llama.cpp server's settings in force stand: its log, /slots and /props, each with its citation.

/props answers with defaults for everything about speculation, so it is believed about models and build only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from specdoctor.core.server import Source, SpecSetting
from specdoctor.engines.llamacpp_effect import Era, setting_of
from specdoctor.engines.llamacpp_log import LlamaLog
from specdoctor.engines.llamacpp_notices import INIT_FAILED, NOT_SPECULATING
from specdoctor.engines.llamacpp_version import normal_version

MAX_QUOTE = 200


@dataclass
class Settings:
    """Values in force under the flags' names, and where each stands. `speculating` None: nothing shows it."""

    values: dict[str, JsonValue] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    speculating: bool | None = None
    told: Source | None = None
    version: str | None = None
    version_source: Source | None = None

    @property
    def source(self) -> Source | None:
        return self.told or next(iter(self.sources.values()), None)

    def put(self, key: str, value: JsonValue, source: Source) -> None:
        if value is not None and key not in self.values:
            self.values[key] = value
            self.sources[key] = source


def parse_slots(body: str) -> list[dict[str, JsonValue]] | None:
    """The answer of /slots; None if `body` is none."""
    parsed = _json(body)
    if not isinstance(parsed, list) or not parsed:
        return None
    slots = [slot for slot in parsed if isinstance(slot, dict) and "id" in slot and "n_ctx" in slot]
    return slots if len(slots) == len(parsed) else None


def parse_props(body: str) -> dict[str, JsonValue] | None:
    """The answer of /props; None if `body` is none."""
    parsed = _json(body)
    if not isinstance(parsed, dict) or "default_generation_settings" not in parsed:
        return None
    return parsed if "total_slots" in parsed or "model_path" in parsed else None


def _json(body: str) -> JsonValue:
    if body.lstrip()[:1] not in ("{", "["):
        return None
    try:
        parsed: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return parsed


def take_slots(settings: Settings, slots: list[dict[str, JsonValue]], where: str) -> None:
    """Whether every slot speculates, and by which types once a slot has had a task."""
    flags = [(i, slot["speculative"]) for i, slot in enumerate(slots) if isinstance(slot.get("speculative"), bool)]
    if flags and settings.speculating is None:
        off = next((i for i, on in flags if on is False), None)
        place = off if off is not None else flags[0][0]
        settings.speculating = off is None
        settings.told = Source(where=where, key=f"{place}.speculative", quote=str(off is None).lower())
    for place, slot in enumerate(slots):
        params = slot.get("params")
        types = params.get("speculative.types") if isinstance(params, dict) else None
        if isinstance(types, str) and types not in ("", "none"):
            key = f"{place}.params.speculative.types"
            settings.put("spec_type", types, Source(where=where, key=key, quote=types))
    context = slots[0].get("n_ctx")
    settings.put("ctx_slot", context, Source(where=where, key="0.n_ctx", quote=str(context)))
    settings.put("parallel", len(slots), Source(where=where, key="0.id", quote=str(slots[0].get("id"))))


def take_props(settings: Settings, props: Mapping[str, JsonValue], where: str) -> None:
    for key, name in (("model", "model_path"), ("alias", "model_alias"), ("parallel", "total_slots")):
        value = props.get(name)
        if value not in (None, ""):
            settings.put(key, value, Source(where=where, key=name, quote=str(value)[:MAX_QUOTE]))
    defaults = props.get("default_generation_settings")
    context = defaults.get("n_ctx") if isinstance(defaults, dict) else None
    settings.put("ctx_slot", context, Source(where=where, key="default_generation_settings.n_ctx", quote=str(context)))
    build = props.get("build_info")
    if isinstance(build, str) and settings.version is None and normal_version(build) is not None:
        settings.version = normal_version(build)
        settings.version_source = Source(where=where, key="build_info", quote=build)


def take_log(settings: Settings, log: LlamaLog) -> None:
    """What the log says of models, lengths and types; requests with drafts prove that it speculates."""
    reading = log.reading
    for key, seen in log.seen.items():
        settings.put(key, seen.value, Source(where=reading.where, line=seen.line, quote=seen.quote[:MAX_QUOTE]))
    if settings.version is None and reading.version is not None:
        settings.version, settings.version_source = reading.version, reading.version_source
    if settings.speculating is not None:
        return
    refused = next((n for n in reading.notices if n.kind in (INIT_FAILED, NOT_SPECULATING)), None)
    drafted = next((w for w in reading.decode if w.counts is not None and w.counts.drafted > 0), None)
    if drafted is not None:
        settings.speculating = True
        settings.told = Source(where=reading.where, line=drafted.line, quote="eval time =")
    elif refused is not None:
        settings.speculating = False
        settings.told = Source(where=reading.where, line=refused.line, quote=refused.text)
    elif "spec_type" in log.seen:
        settings.speculating = True
        settings.told = settings.sources["spec_type"]


def setting_in_force(settings: Settings, asked: Mapping[str, str], era: Era) -> SpecSetting | None:
    """The speculation that the server shows; None where it shows nothing, or not which."""
    if settings.speculating is False:
        return SpecSetting()
    types = settings.values.get("spec_type")
    if not isinstance(types, str) or settings.speculating is None:
        return None
    return setting_of(tuple(types.split(",")), {**asked, **settings.values}, era)
