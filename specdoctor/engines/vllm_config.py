"""The configuration in force as vLLM prints it: the line that its engine starts with, and its /server_info."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from specdoctor.core.redact import MASK, secret_name
from specdoctor.engines.python_repr import read_dict, read_fields
from specdoctor.engines.vllm_args import SPEC

INIT = re.compile(r"Initializing an? (?:V(?P<engine>[01]) )?LLM engine \(v(?P<version>[^)\s]{1,60})\) with config:? ")
ASKED = re.compile(r"non-default args: (?=\{)")
_NAMES = {"max_seq_len": "max_model_len", "cache_dtype": "kv_cache_dtype", "device": "device_config"}
_SPEC_NAMES = {"num_spec_tokens": "num_speculative_tokens", "draft_model": "model"}
_GRAPH_MODES = ("NONE", "PIECEWISE", "FULL")
_GRAPH_KEYS = ("mode", "level", "cudagraph_mode", "cudagraph_capture_sizes", "max_cudagraph_capture_size",
               "max_capture_size", "use_cudagraph", "full_cuda_graph")  # fmt: skip
_PARTS = ("model_config", "cache_config", "parallel_config", "scheduler_config", "device_config", "load_config")
_MAX_LINE = 200_000


@dataclass(frozen=True)
class InitLine:
    """What the engine's first line says. `engine` is 0 or 1 where it is named."""

    version: str
    engine: int | None
    values: dict[str, JsonValue]


def _mode(value: JsonValue) -> JsonValue:
    """A graph mode by its name; the interface gives numbers, pairs of them for mixed modes."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and 0 <= value < len(_GRAPH_MODES):
        return _GRAPH_MODES[value]
    if isinstance(value, list) and len(value) == 2:
        decode, mixed = (_mode(part) for part in value)
        if decode == "FULL":
            return "FULL_AND_PIECEWISE" if mixed == "PIECEWISE" else "FULL_DECODE_ONLY" if mixed == "NONE" else "FULL"
    return str(value).removeprefix("CUDAGraphMode.") if isinstance(value, str) else value


def _speculative(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if not isinstance(value, dict):
        yield SPEC, None
        return
    for key, item in value.items():
        if not isinstance(item, dict):
            yield f"{SPEC}.{_SPEC_NAMES.get(key, key)}", item


def _compilation(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    for key in _GRAPH_KEYS if isinstance(value, dict) else ():
        if isinstance(value, dict) and key in value:
            yield f"compilation_config.{key}", _mode(value[key]) if key == "cudagraph_mode" else value[key]


def flat(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Values by argument name: parts of the speculative and the compilation configuration by dotted name."""
    found: dict[str, JsonValue] = {}
    for key, value in values.items():
        if key == SPEC:
            found.update(_speculative(value))
        elif key == "compilation_config":
            found.update(_compilation(value))
        elif secret_name(key) and isinstance(value, str):
            found[key] = MASK
        else:
            found[_NAMES.get(key, key)] = value
    return found


def parse_init(message: str) -> InitLine | None:
    """The engine's first line, of V1, V0 and the older engine without a number."""
    match = INIT.search(message)
    if match is None:
        return None
    values = read_fields(message[:_MAX_LINE], match.end())
    engine = int(match["engine"]) if match["engine"] else None
    return InitLine(match["version"], engine, flat(values))


def parse_asked(message: str) -> dict[str, JsonValue] | None:
    """The arguments of a `non-default args` line, nested as they were given."""
    match = ASKED.search(message)
    return read_dict(message[:_MAX_LINE], match.end()) if match is not None else None


@dataclass(frozen=True)
class ServerInfo:
    """A /server_info document: values by argument name, and where each stands in it (dotted key, value as written)."""

    values: dict[str, JsonValue]
    places: dict[str, tuple[str, JsonValue]]


def parse_server_info(body: str) -> ServerInfo | None:
    """The values of a /server_info document (JSON or text form) by argument name; None if `body` is none."""
    if "vllm_config" not in body:
        return None
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    config = parsed.get("vllm_config") if isinstance(parsed, dict) else None
    if isinstance(config, str):
        return ServerInfo(flat(read_fields(config[:_MAX_LINE], 0)), {})
    if not isinstance(config, dict):
        return None
    found: dict[str, JsonValue] = {}
    places: dict[str, tuple[str, JsonValue]] = {}
    for part in (*_PARTS, SPEC, "compilation_config"):
        inner = config.get(part)
        whole = part not in _PARTS
        if whole and part in config:
            found[part] = inner
        for key, value in inner.items() if isinstance(inner, dict) else ():
            if not isinstance(value, dict):
                name = f"{part}.{key}" if whole else _NAMES.get(key, key)
                places.setdefault(str(name), (f"vllm_config.{part}.{key}", value))
                if not whole:
                    found.setdefault(key, value)
    return ServerInfo(flat(found), places)
