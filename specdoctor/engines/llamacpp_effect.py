"""What a llama.cpp launch line makes effective, by the rules of its build."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from specdoctor.core.server import SpecSetting
from specdoctor.engines.llamacpp_args import Asked
from specdoctor.engines.llamacpp_version import NEW_FIRST, OLD_LAST, bounds

Era = Literal["old", "new", "unknown"]
DRAFT = "model_draft"
TYPE = "spec_type"
N_MAX = "spec_draft_n_max"
N_MIN = "spec_draft_n_min"
P_MIN = "spec_draft_p_min"
SIMPLE = "draft-simple"
_INFERRED = re.compile(r"mtp|dflash|dspark", re.IGNORECASE)
_EAGLE3 = re.compile(r"eagle-?3", re.IGNORECASE)
_SIZES: dict[str, tuple[str, int]] = {
    "ngram-simple": ("spec_ngram_simple_size_m", 48),
    "ngram-map-k": ("spec_ngram_map_k_size_m", 48),
    "ngram-map-k4v": ("spec_ngram_map_k4v_size_m", 48),
    "ngram-mod": ("spec_ngram_mod_n_max", 64),
}
_NGRAM_CACHE = 8
DEFAULTS: dict[Era, dict[str, str]] = {
    "old": {N_MAX: "16", N_MIN: "0", P_MIN: "0.75"},
    "new": {N_MAX: "3", N_MIN: "0", P_MIN: "0.00"},
    "unknown": {},
}
_PYTHON_PREDICTED = 10


@dataclass(frozen=True)
class Build:
    """The build as far as it is known, by number and by what its log proves."""

    version: str | None = None
    version_range: str | None = None


def era_of(asked: Asked | None, build: Build) -> Era:
    """Which rules hold: before or after speculation needed --spec-type. A flag that only one side knows decides too."""
    least, greatest = bounds(build.version, build.version_range)
    if greatest is not None and greatest <= OLD_LAST:
        return "old"
    if least is not None and least >= NEW_FIRST:
        return "new"
    if asked is not None:
        if asked.program == "python server" or asked.uses_old_spelling:
            return "old"
        if asked.values.get(TYPE, "").startswith("draft-") or (least is None and asked.uses_new_spelling):
            return "new"
    if least is None and greatest is not None and greatest < NEW_FIRST:
        return "old"
    return "unknown"


def types_asked(values: Mapping[str, str]) -> tuple[str, ...]:
    """The ways of drafting named on the line; `none` cancels what stands with it."""
    named = [part.strip() for part in values.get(TYPE, "").split(",") if part.strip()]
    found = [] if "none" in named else named
    if values.get("spec_default") == "True":
        found.append("ngram-mod")
    return tuple(dict.fromkeys(found))


def given_draft(values: Mapping[str, str]) -> str | None:
    """The draft model that was asked for, by path or hub name."""
    return values.get(DRAFT) or values.get("hf_repo_draft")


def kind_of_draft(values: Mapping[str, str], config: Mapping[str, JsonValue] | None) -> str:
    """The type that fits the draft file, by its metadata, else by its name."""
    architecture = str((config or {}).get("general.architecture") or (config or {}).get("model_type") or "")
    for text in (architecture, given_draft(values) or ""):
        if _EAGLE3.search(text):
            return "draft-eagle3"
        match = _INFERRED.search(text)
        if match is not None:
            return f"draft-{match[0].lower()}"
    return SIMPLE


def _whole(text: JsonValue) -> int | None:
    return int(text) if isinstance(text, str) and text.isdigit() else text if isinstance(text, int) else None


def length_of(kind: str, values: Mapping[str, JsonValue], era: Era) -> int | None:
    """The longest draft of one way of drafting; None where neither line nor build tell."""
    if kind in _SIZES:
        key, default = _SIZES[kind]
        return _whole(values.get(key)) or default
    if kind == "ngram-cache":
        return _NGRAM_CACHE
    return _whole(values.get(N_MAX) or DEFAULTS[era].get(N_MAX))


def setting_of(types: tuple[str, ...], values: Mapping[str, JsonValue], era: Era) -> SpecSetting | None:
    """A chain of at most the longest draft of these types; None where a length is not known."""
    if not types:
        return SpecSetting()
    lengths = [length_of(kind, values, era) for kind in types]
    if any(length is None for length in lengths):
        return None
    longest = max(length for length in lengths if length is not None)
    return SpecSetting(algorithm=",".join(types), draft_steps=longest, topk=1, draft_tokens=longest + 1)


def asked_setting(asked: Asked, era: Era, *, config: Mapping[str, JsonValue] | None = None) -> SpecSetting:
    """The speculation that somebody meant: a draft model given without a type is one. What was left out is 0."""
    types = types_asked(asked.values)
    draft = given_draft(asked.values)
    if not types and draft is not None:
        types = (kind_of_draft(asked.values, config),)
    if not types:
        return SpecSetting()
    longest = max((length_of(kind, asked.values, "unknown") or 0 for kind in types), default=0)
    tokens = longest + 1 if longest else 0
    return SpecSetting(algorithm=",".join(types), draft_steps=longest, topk=1 if longest else 0, draft_tokens=tokens)


def predict(asked: Asked, build: Build, *, config: Mapping[str, JsonValue] | None = None) -> SpecSetting | None:
    """The speculation that a launch line makes effective; None where the rules of its builds do not tell."""
    era = era_of(asked, build)
    values: dict[str, JsonValue] = dict(asked.values)
    if asked.program == "python server":
        if asked.values.get(DRAFT) != "prompt-lookup-decoding":
            return SpecSetting()
        steps = _whole(asked.values.get(N_MAX)) or _PYTHON_PREDICTED
        return SpecSetting(algorithm="prompt-lookup", draft_steps=steps, topk=1, draft_tokens=steps + 1)
    types = types_asked(asked.values)
    if types:
        return setting_of(types, values, era)
    if given_draft(asked.values) is None:
        return SpecSetting()
    if asked.program == "example" or era == "old":
        return setting_of((SIMPLE,), values, era)
    kind = kind_of_draft(asked.values, config)
    if era == "unknown":
        return None
    if kind not in (SIMPLE, "draft-eagle3"):
        return setting_of((kind,), values, era)
    return None if DRAFT not in asked.values else SpecSetting()
