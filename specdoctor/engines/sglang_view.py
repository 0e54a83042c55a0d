"""Put one view of a server together from what was read of it: launch line, values in force, log, version."""

from __future__ import annotations

from dataclasses import dataclass, field

from specdoctor.core.server import (
    LogReading,
    Notice,
    Rewrite,
    ServerView,
    SpecSetting,
)
from specdoctor.engines.argument_values import as_text
from specdoctor.engines.known_version import KnownVersion
from specdoctor.engines.server_parts import ServerParts
from specdoctor.engines.sglang_args import Asked
from specdoctor.engines.sglang_effect import asked_setting, predict, setting_from
from specdoctor.engines.sglang_foretold import foretold
from specdoctor.engines.sglang_in_force import Settings, lifetime_accept_length
from specdoctor.engines.sglang_pins import pins_of
from specdoctor.engines.sglang_rewrites import Comparison, InForce, in_force_text, rewrites
from specdoctor.engines.sglang_rules import ALGORITHM
from specdoctor.engines.versions import parse_range

NAME = "sglang"


@dataclass(frozen=True, kw_only=True)
class Parts(ServerParts):
    """Everything read of one server. `settings` and `asked` are None where nothing shows them."""

    asked: Asked | None = None
    asked_complete: bool = True
    settings: Settings | None = None
    version: KnownVersion = field(default_factory=KnownVersion)


def architecture(parts: Parts) -> str | None:
    """The target's class: from its config, else the first weights that the log shows loaded."""
    listed = (parts.target_config or {}).get("architectures")
    if isinstance(listed, list) and listed and isinstance(listed[0], str):
        return listed[0]
    return next(iter(parts.log.weight_classes), None) if parts.log is not None else None


def _rewrites(parts: Parts) -> tuple[Rewrite, ...]:
    if parts.asked is None:
        return ()
    case = Comparison(
        asked=parts.asked.values,
        asked_source=parts.cite_asked,
        force=parts.settings.in_force if parts.settings is not None else InForce({}, lambda _key: None),
        versions=parts.version.range_beside(parts.log),
        architecture=architecture(parts),
        log=parts.log,
        asked_complete=parts.asked_complete,
    )
    read = rewrites(case) if parts.settings is not None else ()
    return (*read, *foretold(case, {r.key for r in read}, parts.version.source))


def _setting(parts: Parts) -> SpecSetting | None:
    """The speculation in force: as shown, else as the rules of its version make it from the launch line."""
    if parts.settings is not None and ALGORITHM in parts.settings.values:
        return setting_from(in_force_text(parts.settings.in_force.values))
    if parts.asked is None or not parts.asked_complete:
        return None
    return predict(parts.asked.values, architecture=architecture(parts), versions=parts.version.range_beside(parts.log))


def _argument(parts: Parts, key: str) -> str | None:
    values = parts.settings.values if parts.settings is not None else {}
    if key in values:
        return as_text(values[key])
    return parts.asked.values.get(key) if parts.asked is not None else None


READ_VERSIONS = parse_range(">=0.4.3,<0.5.24")
"""The releases whose source the rules by version come from."""


def _doubts(parts: Parts) -> tuple[str, ...]:
    doubts = list(parts.version.doubts)
    if _argument(parts, "speculative_adaptive") == "True":
        doubts.append(
            "speculative_adaptive changes the draft length while the server runs: the numbers here are static"
        )
    return (*doubts, *parts.version.doubts_beside(parts.log, READ_VERSIONS))


def _with_adaptive_notice(parts: Parts) -> LogReading | None:
    log = parts.log
    if log is None or log.server_args_line is None or (log.server_args or {}).get("speculative_adaptive") is not True:
        return log
    notice = Notice(line=log.server_args_line, kind="adaptive", text="speculative_adaptive")
    return log.model_copy(update={"notices": (*log.notices, notice)})


def build_view(parts: Parts) -> ServerView:
    """The view that these parts make."""
    asked = parts.asked.values if parts.asked is not None else {}
    values = parts.settings.values if parts.settings is not None else {}
    draft = _argument(parts, "speculative_draft_model_path")
    return ServerView(
        engine=NAME,
        **parts.common(),
        version=parts.version.text,
        version_source=parts.version.source,
        version_doubts=_doubts(parts),
        pins=pins_of(parts.version.text),
        asked=dict(asked),
        asked_source=parts.asked_source,
        asked_lines=parts.asked_lines(asked),
        effective=dict(values),
        effective_source=parts.settings.source if parts.settings is not None else None,
        asked_spec=asked_setting(asked) if parts.asked is not None and parts.asked_complete else None,
        spec=_setting(parts),
        rewrites=_rewrites(parts),
        log=_with_adaptive_notice(parts),
        model_path=_argument(parts, "model_path"),
        draft_path=draft,
        served_model=_argument(parts, "served_model_name") or _argument(parts, "model_path"),
        draft_config=parts.draft_config,
        lifetime_accept_length=lifetime_accept_length(values),
    )
