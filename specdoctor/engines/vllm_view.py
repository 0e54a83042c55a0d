"""Put one view of a vLLM server together from what was read of it: launch line, values in force, log, counters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.server import LogReading, Rewrite, ServerView, Source, SpecSetting
from specdoctor.engines.argument_values import as_text
from specdoctor.engines.known_version import KnownVersion
from specdoctor.engines.server_parts import ServerParts
from specdoctor.engines.versions import parse_range
from specdoctor.engines.vllm_args import MODEL, SPEC, Asked, asked_of_dict
from specdoctor.engines.vllm_config import ServerInfo
from specdoctor.engines.vllm_effect import asked_setting, chain, predict, setting_in_force, speculates
from specdoctor.engines.vllm_rewrites import Case, rewrites

NAME = "vllm"
READ_VERSIONS = parse_range(">=0.8.5,<0.33.1")
"""The releases whose source the rules come from."""
_MAX_QUOTE = 200


@dataclass(frozen=True)
class Settings:
    """Values in force and how to cite them. `source` tells where they stand as a whole."""

    values: dict[str, JsonValue]
    source: Source | None
    cite: Callable[[str], Source | None]

    @classmethod
    def of_info(cls, info: ServerInfo, where: str) -> Settings:
        """Those of a /server_info document."""

        def cite(key: str) -> Source | None:
            place = info.places.get(key)
            if place is None:
                return None
            written = place[1]
            quote = "" if isinstance(written, list) else (as_text(written) or "null")[:_MAX_QUOTE]
            return Source(where=where, key=place[0], quote=quote)

        return cls(dict(info.values), Source(where=where), cite)


def settings_of_log(log: LogReading, text: str) -> Settings | None:
    """Values in force as a log's first line of the engine shows them, None where it has none."""
    if log.server_args is None or log.server_args_line is None:
        return None
    values = dict(log.server_args)
    line = log.server_args_line
    raw = text.split("\n", line)[line - 1] if line <= log.lines + 1 else ""

    def cite(key: str) -> Source | None:
        if key not in values:
            return None
        name = {"max_model_len": "max_seq_len", f"{SPEC}.num_speculative_tokens": "num_spec_tokens"}.get(key)
        word = name or key.rpartition(".")[2]
        match = re.search(rf"\b{re.escape(word)}['\"]?(?:=|: )(?:'[^']*'|\[[^\]]*\]|[^,)}}\]]*)", raw[:100_000])
        return Source(where=log.where, line=line, key=key, quote=match[0][:_MAX_QUOTE] if match else "")

    return Settings(values, Source(where=log.where, line=line), cite)


@dataclass(frozen=True, kw_only=True)
class Parts(ServerParts):
    """Everything read of one server. `settings` and `asked` are None where nothing shows them."""

    asked: Asked | None = None
    asked_complete: bool = True
    settings: Settings | None = None
    log_text: str = ""
    version: KnownVersion = field(default_factory=KnownVersion)
    counts: DraftCounts | None = None
    served_model: str | None = None


def _asked(parts: Parts) -> tuple[dict[str, str] | None, Source | None, Callable[[str], Source | None]]:
    """What was asked for: by the launch line, else by the log's own line of arguments."""
    if parts.asked is not None:
        return dict(parts.asked.values), parts.asked_source, parts.cite_asked
    log = parts.log
    if log is None or log.asked_args is None:
        return None, None, parts.cite_asked
    whole = Source(where=log.where, line=log.asked_args_line)

    def cite(key: str) -> Source | None:
        value = asked.get(key)
        name = key.rpartition(".")[2]
        shown = f"'{name}': {value}" if value and value.replace(".", "").isdigit() else f"'{name}': '{value}'"
        raw = parts.log_text.split("\n", whole.line or 1)[(whole.line or 1) - 1] if parts.log_text else ""
        return whole.model_copy(update={"key": key, "quote": shown if shown in raw else ""})

    asked = asked_of_dict(log.asked_args)
    return asked, whole, cite


def _with_runner(parts: Parts, values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """`values` with what only the log or the environment tells: the model runner, scheduling, a CPU."""
    kinds = {notice.kind for notice in parts.log.notices} if parts.log is not None else set()
    forced = parts.env.get("VLLM_USE_V2_MODEL_RUNNER")
    if "runner-v1" in kinds or forced == "0":
        values["model_runner"] = "v1"
    elif "runner-v2" in kinds or forced == "1":
        values["model_runner"] = "v2"
    if any(name.startswith("VLLM_CPU_") for name in parts.env):
        values.setdefault("device_config", "cpu")
    for notice in parts.log.notices if parts.log is not None else ():
        if notice.kind == "async-state":
            values.setdefault("async_scheduling", notice.text.endswith("enabled"))
        elif notice.kind == "async-off":
            values["async_scheduling"] = False
    return values


def _spec(parts: Parts, asked: Mapping[str, str] | None, values: Mapping[str, JsonValue]) -> SpecSetting | None:
    """The speculation in force: as shown, else as the rules make it from what was asked for, else as counted."""
    shown = setting_in_force(values)
    if shown is not None:
        if shown.algorithm == "UNKNOWN" and values.get(MODEL) is not None and values.get(MODEL) == values.get("model"):
            return shown.model_copy(update={"algorithm": "MTP"})  # the target is its own draft
        if shown.algorithm == "UNKNOWN" and asked is not None:  # the older engine names no method
            foretold = predict(asked, draft=parts.draft_config, target=parts.target_config)
            if foretold is not None and foretold.on:
                return foretold.model_copy(
                    update={"draft_steps": shown.draft_steps, "draft_tokens": shown.draft_tokens}
                )
        return shown
    counts = parts.log.counts if parts.log is not None else None
    if asked is not None and parts.asked_complete:
        if not speculates(asked) and counts is not None and counts.drafted:
            return chain("unknown", len(counts.by_position) or 0)
        return predict(asked, draft=parts.draft_config, target=parts.target_config)
    seen = counts or parts.counts
    return chain("unknown", len(seen.by_position)) if seen is not None and seen.by_position else None


def _rewrites(
    parts: Parts, asked: dict[str, str] | None, cite: Callable[[str], Source | None], values: dict[str, JsonValue]
) -> tuple[Rewrite, ...]:
    if asked is None:
        return ()
    settings = parts.settings
    return rewrites(
        Case(
            asked=asked,
            values=settings.values if settings is not None else {},
            asked_source=cite,
            source=settings.cite if settings is not None else lambda _key: None,
            versions=parts.version.range_beside(parts.log),
            log=parts.log,
            target=parts.target_config,
            draft=parts.draft_config,
            asked_complete=parts.asked_complete,
        )
    )


def _name(text: str | None) -> str | None:
    """The first of the names that a server answers to."""
    if text is None:
        return None
    if text.startswith("["):
        try:
            listed = json.loads(text.replace("'", '"'))
        except ValueError:
            return text
        return str(listed[0]) if listed else None
    return text.split()[0] if text.split() else None


def _draft_path(known: Mapping[str, str], spec: SpecSetting | None, model: str | None) -> str | None:
    """Where the draft's weights are: MTP layers may be the target's own, n-grams have none."""
    algorithm = spec.algorithm if spec is not None else None
    if algorithm in ("NGRAM", "NGRAM_GPU", "SUFFIX", "CUSTOM_CLASS") or (spec is not None and not spec.on):
        return None
    return known.get(MODEL) or (model if algorithm == "MTP" else None)


def _lines(asked: Mapping[str, str], cite: Callable[[str], Source | None]) -> dict[str, int]:
    cited = {key: cite(key) for key in asked}
    return {key: source.line for key, source in cited.items() if source is not None and source.line is not None}


def build_view(parts: Parts) -> ServerView:
    """The view that these parts make."""
    asked, asked_source, cite = _asked(parts)
    values = _with_runner(parts, dict(parts.settings.values) if parts.settings is not None else {})
    counts = parts.counts
    known = {**(asked or {}), **{k: text for k, v in values.items() if (text := as_text(v)) is not None}}
    model = known.get("model")
    spec = _spec(parts, asked, values)
    draft = _draft_path(known, spec, model)
    return ServerView(
        engine=NAME,
        **parts.common(),
        version=parts.version.text,
        version_source=parts.version.source,
        version_doubts=(*parts.version.doubts, *parts.version.doubts_beside(parts.log, READ_VERSIONS)),
        asked=asked or {},
        asked_source=asked_source,
        asked_lines=_lines(asked or {}, cite),
        effective=values,
        effective_source=parts.settings.source if parts.settings is not None else None,
        asked_spec=asked_setting(asked) if asked is not None and parts.asked_complete else None,
        spec=spec,
        rewrites=_rewrites(parts, asked, cite, values),
        log=parts.log,
        model_path=model,
        draft_path=draft,
        served_model=parts.served_model or _name((asked or {}).get("served_model_name")) or model,
        draft_config=parts.draft_config,
        lifetime_accept_length=counts.accept_length if counts is not None else None,
        lifetime_counts=counts,
    )
