"""Put one view of a llama.cpp server together from what was read of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import JsonValue

from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.server import Rewrite, ServerView, Source, SpecSetting
from specdoctor.engines.llamacpp_args import Asked
from specdoctor.engines.llamacpp_effect import DRAFT, Build, Era, asked_setting, era_of, given_draft, predict
from specdoctor.engines.llamacpp_in_force import Settings, setting_in_force
from specdoctor.engines.llamacpp_rewrites import Comparison, rewrites
from specdoctor.engines.llamacpp_version import NEW_FIRST, OLD_LAST, build_number
from specdoctor.engines.server_parts import ServerParts

NAME = "llamacpp"
ENOUGH_TOKENS = 100
"""Generated tokens after which a draft model that proposed nothing is taken to be unused: without a threshold it
proposes something at every step (heuristic)."""
READ_BUILD = 11434


@dataclass(frozen=True, kw_only=True)
class Parts(ServerParts):
    """Everything read of one server. `asked` is None where nothing shows the launch line."""

    asked: Asked | None = None
    settings: Settings = field(default_factory=Settings)
    counts: DraftCounts | None = None
    doubts: tuple[str, ...] = ()


def _silent(parts: Parts) -> None:
    """Requests were served with a draft model at hand, and not one token was drafted: it is not in use."""
    log, settings = parts.log, parts.settings
    if (
        log is None
        or settings.speculating is not None
        or parts.asked is None
        or given_draft(parts.asked.values) is None
    ):
        return
    tokens = sum(w.tokens or 0 for w in log.decode)
    if tokens >= ENOUGH_TOKENS and all(w.counts is None for w in log.decode):
        settings.speculating = False
        settings.told = Source(where=log.where, line=log.decode[0].line, quote="eval time =")


def _setting(parts: Parts, era: Era, build: Build) -> SpecSetting | None:
    """The speculation in force: as shown, else as the rules of its build make it from the launch line."""
    values = parts.asked.values if parts.asked is not None else {}
    shown = setting_in_force(parts.settings, values, era)
    if shown is not None:
        return shown
    settings = parts.settings
    if settings.speculating and parts.asked is not None:
        meant = asked_setting(parts.asked, era, config=_drafter(parts))
        predicted = predict(parts.asked, build, config=_drafter(parts))
        return predicted if predicted is not None and predicted.on else meant if meant.on else None
    return predict(parts.asked, build, config=_drafter(parts)) if parts.asked is not None else None


def _doubts(parts: Parts, version: str | None) -> tuple[str, ...]:
    doubts = list(parts.doubts)
    number = build_number(version)
    if number is not None and number > READ_BUILD:
        doubts.append(f"the rules were read in builds up to b{READ_BUILD}")
    if number is not None and OLD_LAST < number < NEW_FIRST:
        doubts.append(f"between b{OLD_LAST} and b{NEW_FIRST} the defaults of speculation changed; where is not known")
    if parts.settings.version is None and parts.log is not None and parts.log.version_range is None:
        doubts.append("nothing states the build")
    return tuple(doubts)


def build_view(parts: Parts) -> ServerView:
    """The view that these parts make."""
    _silent(parts)
    settings, asked = parts.settings, parts.asked
    version_range = parts.log.version_range if parts.log is not None else None
    build = Build(settings.version, version_range)
    era = era_of(asked, build)
    spec = _setting(parts, era, build)
    found: tuple[Rewrite, ...] = ()
    meant = asked_setting(asked, era, config=_drafter(parts)) if asked is not None else None
    if asked is not None and meant is not None:
        case = Comparison(
            asked=asked,
            cite=parts.cite_asked,
            settings=settings,
            spec=spec,
            era=era,
            meant=meant.algorithm or "",
            log=parts.log,
        )
        found = rewrites(case)
    values = asked.values if asked is not None else {}
    model = _text(settings.values.get("model")) or values.get("model") or values.get("hf_repo")
    counts = parts.counts
    return ServerView(
        engine=NAME,
        **parts.common(),
        version=settings.version,
        version_source=settings.version_source,
        version_doubts=_doubts(parts, settings.version),
        asked=dict(values),
        asked_source=parts.asked_source,
        asked_lines=parts.asked_lines(values),
        effective=_effective(settings, spec),
        effective_source=settings.source,
        asked_spec=meant,
        spec=spec,
        rewrites=found,
        log=parts.log,
        model_path=model,
        draft_path=_text(settings.values.get(DRAFT)) or given_draft(values),
        served_model=_text(settings.values.get("alias")) or values.get("alias") or model,
        draft_config=_drafter(parts),
        lifetime_accept_length=counts.accept_length if counts is not None else None,
        lifetime_counts=counts,
    )


def _effective(settings: Settings, spec: SpecSetting | None) -> dict[str, JsonValue]:
    values = dict(settings.values)
    if settings.speculating is False and spec is not None and not spec.on:
        values["spec_type"] = "none"
    return values


def _drafter(parts: Parts) -> dict[str, JsonValue] | None:
    return parts.draft_config or _drafter_of_log(parts.settings)


def _drafter_of_log(settings: Settings) -> dict[str, JsonValue] | None:
    """What the log says of an EAGLE-3 drafter's file, under the file's own names."""
    layers = settings.values.get("eagle3.target_layers")
    if layers is None and settings.values.get("draft_architecture") != "eagle3":
        return None
    config: dict[str, JsonValue] = {"general.architecture": "eagle3"}
    if layers is not None:
        config["eagle3.target_layers"] = layers
    if "draft_vocab_size" in settings.values:
        config["draft_vocab_size"] = settings.values["draft_vocab_size"]
    return config


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None
