"""Where the values in force stand: the server-info document, else the start-up log, each with its citation."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from specdoctor.core.server import LogReading, Source
from specdoctor.engines.argument_values import as_text
from specdoctor.engines.sglang_rewrites import InForce
from specdoctor.engines.sglang_server_args import masked

_LIMITS = re.compile(r"(?P<key>max_total_num_tokens|max_running_requests)=(?P<value>\d+)")
_SHARE = "effective_max_running_requests_per_dp"
_MAX_QUOTE = 200


@dataclass(frozen=True)
class Settings:
    """Values in force and how to cite them. `source` tells where the document as a whole stands, None if nowhere."""

    values: dict[str, JsonValue]
    source: Source | None
    in_force: InForce
    whole: bool


def parse_server_info(body: str) -> dict[str, JsonValue] | None:
    """A server-info document with secrets masked; None if `body` is none."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    if "speculative_algorithm" not in parsed and not {"internal_states", "model_path"} <= set(parsed):
        return None
    return masked(parsed)


def first_state(info: Mapping[str, JsonValue]) -> list[dict[str, JsonValue]]:
    """The entries of `internal_states`, one for each data-parallel rank."""
    states = info.get("internal_states")
    return [state for state in states if isinstance(state, dict)] if isinstance(states, list) else []


def lifetime_accept_length(info: Mapping[str, JsonValue]) -> float | None:
    """Accept length since start or the last flush, mean over ranks; None before the first statistics interval."""
    found = [state.get("avg_spec_accept_length") for state in first_state(info)]
    numbers = [float(n) for n in found if isinstance(n, (int, float)) and not isinstance(n, bool) and math.isfinite(n)]
    return sum(numbers) / len(numbers) if numbers else None


def from_server_info(info: dict[str, JsonValue], where: str) -> Settings:
    values = dict(info)
    shares = [state[_SHARE] for state in first_state(info) if state.get(_SHARE) is not None]
    if shares:
        values[_SHARE] = shares[0]

    def source(key: str) -> Source | None:
        name = key if key in info else f"internal_states.0.{key}"
        return Source(where=where, key=name, quote=(as_text(values.get(key)) or "null")[:_MAX_QUOTE])

    compared = {key: value for key, value in values.items() if key not in ("internal_states", "startup_time")}
    return Settings(values, Source(where=where), InForce(compared, source), whole=True)


def from_log(reading: LogReading, text: str, *, dp_attention: bool) -> Settings:
    """Values in force as a log shows them: its server_args line and the limits it prints after loading."""
    values: dict[str, JsonValue] = dict(reading.server_args or {})
    lines: dict[str, int] = dict.fromkeys(values, reading.server_args_line or 0)
    limits = next((notice for notice in reading.notices if notice.kind == "limits"), None)
    for match in _LIMITS.finditer(limits.text if limits is not None else ""):
        key = match["key"]
        if key == "max_running_requests" and dp_attention:
            key = _SHARE
        if values.get(key) is None and limits is not None:
            values[key] = int(match["value"])
            lines[key] = limits.line

    def source(key: str) -> Source | None:
        line = lines.get(key)
        if not line:
            return None
        raw = text.split("\n", line)[line - 1] if line <= reading.lines + 1 else ""
        return Source(where=reading.where, line=line, key=key, quote=_quote(raw, key))

    where = Source(where=reading.where, line=reading.server_args_line) if reading.server_args else None
    return Settings(values, where, InForce(values, source), whole=reading.server_args is not None)


def _quote(raw: str, key: str) -> str:
    name = "max_running_requests" if key == _SHARE else key
    match = re.search(rf"\b{re.escape(name)}['\"]?(?:=|: )(?:'[^']*'|\[[^\]]*\]|[^,)}}\]]*)", raw)
    return match[0][:_MAX_QUOTE] if match is not None else ""
