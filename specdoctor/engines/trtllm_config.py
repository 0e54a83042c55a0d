"""TensorRT-LLM's options in YAML: what they ask of speculation, and what its releases ignore or replace.

The options are strict: an unknown key ends the start, so what stands in the file of a running server is in force, the
rules here apart.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from specdoctor.core.server import Rewrite, Source, SpecSetting

SECTION = "speculative_config"
_MOST_CHARS = 100_000
_ALIAS = re.compile(r"[:\-\[,]\s*\*\w")
_MOST_ALIASES = 8
"""Aliases in one file: more may write out to more than fits in memory."""
_NAMES = {"eagle": "Eagle3", "eagle3": "Eagle3", "draft_target": "DraftTarget", "drafttarget": "DraftTarget"}
_MODEL_KEYS = ("speculative_model", "speculative_model_dir")


@dataclass(frozen=True)
class Options:
    """One options file: all of it, and its speculative part. `where` names the file, `text` is as written."""

    where: str = ""
    text: str = ""
    values: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def speculative(self) -> dict[str, JsonValue]:
        found = self.values.get(SECTION)
        return found if isinstance(found, dict) else {}

    def cite(self, key: str) -> Source | None:
        """The line that gives a key, inside the speculative part first."""
        lines = self.text.split("\n")
        begin = next((n for n, line in enumerate(lines) if line.lstrip().startswith(f"{SECTION}:")), 0)
        order = [*range(begin, len(lines)), *range(begin)]
        pattern = re.compile(rf"^\s*(?:- )?{re.escape(key)}\s*:.*$")
        for number in order:
            match = pattern.match(lines[number].rstrip("\r"))
            if match is not None:
                return Source(where=self.where, line=number + 1, key=key, quote=match[0].strip()[:200])
        return None


def read_options(text: str, *, where: str) -> Options | None:
    """The options in a YAML file; None for what is no mapping."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(text) > _MOST_CHARS or text.lstrip()[:1] in ("{", "[") or len(_ALIAS.findall(text)) > _MOST_ALIASES:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of odd anchors, which are nothing to us
            loaded = YAML(typ="safe", pure=True).load(text)
        plain = json.loads(json.dumps(loaded, default=str, skipkeys=True)) if isinstance(loaded, dict) else None
    except (YAMLError, ValueError, RecursionError, AttributeError, TypeError):
        return None
    return Options(where=where, text=text, values=plain) if plain is not None else None


def is_own(options: Options) -> bool:
    """Whether a YAML file can only be TensorRT-LLM's: its speculative part names a decoding type."""
    return "decoding_type" in options.speculative


def _whole(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10_000 else None


def method(speculative: Mapping[str, JsonValue]) -> str | None:
    """The way of drafting, an alias by its present name; None without speculation."""
    name = speculative.get("decoding_type")
    return _NAMES.get(name.lower(), name) if isinstance(name, str) and name else None


def setting_of(speculative: Mapping[str, JsonValue]) -> SpecSetting | None:
    """The speculation that these options make effective; None where the checkpoint decides the length."""
    algorithm = method(speculative)
    if algorithm is None or algorithm == "SaveState":
        return SpecSetting()
    steps = _whole(speculative.get("max_draft_len")) or _whole(speculative.get("num_nextn_predict_layers"))
    if steps is None:
        return None
    tree = speculative.get("use_dynamic_tree") is True
    topk = (_whole(speculative.get("dynamic_tree_max_topK")) or 1) if tree else 1
    total = _whole(speculative.get("max_total_draft_tokens")) or (topk * steps if tree else steps)
    return SpecSetting(algorithm=algorithm, draft_steps=steps, topk=topk, draft_tokens=total + 1)


def asked_setting(speculative: Mapping[str, JsonValue]) -> SpecSetting:
    """The speculation as written: a length that was left out is 0."""
    found = setting_of(speculative)
    return found if found is not None else SpecSetting(algorithm=method(speculative))


def draft_of(speculative: Mapping[str, JsonValue]) -> str | None:
    return next((str(speculative[key]) for key in _MODEL_KEYS if speculative.get(key)), None)


def rewrites(options: Options) -> tuple[Rewrite, ...]:
    """Options that are read and have no effect, or mean something else than their name says."""
    speculative = options.speculative
    out = [
        _rewrite(options, key, "False", "True", "one-model-only", kind="dropped")
        for key in ("eagle3_one_model", "mtp_eagle_one_model")
        if speculative.get(key) is False
    ]
    if "dynamic_tree_max_topK" in speculative and speculative.get("use_dynamic_tree") is not True:
        value = str(speculative["dynamic_tree_max_topK"])
        out.append(_rewrite(options, "dynamic_tree_max_topK", value, None, "no-dynamic-tree", kind="dropped"))
    if speculative.get("allow_advanced_sampling") is not None:
        value = str(speculative["allow_advanced_sampling"])
        out.append(_rewrite(options, "allow_advanced_sampling", value, None, "no-effect", kind="dropped"))
    name = speculative.get("decoding_type")
    if isinstance(name, str) and method(speculative) not in (name, None):
        out.append(_rewrite(options, "decoding_type", name, method(speculative), "alias", cause=None))
    return tuple(out)


def _rewrite(
    options: Options,
    key: str,
    asked: str,
    effective: str | None,
    rule: str,
    *,
    kind: str = "rewritten",
    cause: str | None = "CFG-1",
) -> Rewrite:
    source = options.cite(key)
    return Rewrite(
        key=key,
        asked=asked,
        effective=effective,
        kind="dropped" if kind == "dropped" else "rewritten",
        cause=cause,
        rule=rule,
        sources=(source,) if source is not None else (),
    )
