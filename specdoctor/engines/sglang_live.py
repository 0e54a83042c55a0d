"""Servers that one look at a host shows: running launchers, and logs whose process is gone."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from specdoctor.core.facts import Facts, HttpReply, LogFacts, ProcessFacts
from specdoctor.core.server import LogReading, ServerView, Source
from specdoctor.engines.known_version import KnownVersion
from specdoctor.engines.live_process import LiveProcess
from specdoctor.engines.live_servers import asks_for_key, config_text, servers_shown
from specdoctor.engines.process_facts import (
    config_of,
    package_doubts,
    packages_of,
)
from specdoctor.engines.server_parts import GONE
from specdoctor.engines.sglang_args import is_launch, read_launch
from specdoctor.engines.sglang_in_force import Settings, from_log, from_server_info, parse_server_info
from specdoctor.engines.sglang_log import read_log
from specdoctor.engines.sglang_traits import traits_of
from specdoctor.engines.sglang_view import Parts, build_view
from specdoctor.engines.versions import parse_version

_INFO_PATHS = ("/server_info", "/get_server_info")
_PACKAGES = ("sglang", "sgl-kernel", "sglang-kernel")


def _reply(replies: Mapping[str, HttpReply]) -> tuple[dict[str, JsonValue], str] | None:
    for path in _INFO_PATHS:
        reply = replies.get(path)
        if reply is not None and reply.status == 200:
            info = parse_server_info(reply.body)
            if info is not None:
                return info, path
    return None


def _version(
    info: tuple[dict[str, JsonValue], str] | None, port: int, facts: Facts, process: ProcessFacts
) -> KnownVersion:
    where, packages = packages_of(facts, process)
    doubts = list(package_doubts(packages, _PACKAGES))
    if {"sgl-kernel", "sglang-kernel"} <= set(packages):
        doubts.append("both sgl-kernel and sglang-kernel are installed, whose files overwrite each other")
    installed = packages.get("sglang")
    running = info[0].get("version") if info is not None else None
    if isinstance(running, str) and info is not None:
        found = KnownVersion(running, Source(where=f"http://127.0.0.1:{port}{info[1]}", key="version", quote=running))
        if installed is not None and parse_version(installed.version) != parse_version(running):
            doubts.append(
                f"the running server is {running}, but {installed.version} is installed: not restarted since?"
            )
    elif installed is not None:
        found = KnownVersion(installed.version, Source(where=where, key="sglang", quote=installed.version))
    else:
        found = KnownVersion()
    parsed = parse_version(found.text) if found.text else None
    if found.text and (parsed is None or parsed.is_development):
        doubts.append(f"{found.text} is a build between releases: rules of the releases around it may not hold")
    return KnownVersion(found.text, found.source, tuple(doubts))


def _live_view(facts: Facts, process: ProcessFacts) -> tuple[ServerView, LogFacts | None]:
    first = read_launch(process.argv)
    config, complete = config_text(facts, process, first.values.get("config"))
    asked = read_launch(process.argv, config_text=config)
    live = LiveProcess.of(facts, process, asked.port)
    log = live.own_log
    reading = read_log(log.text, where=log.path, argv=process.argv) if log is not None else None
    info = _reply(live.replies)
    settings: Settings | None = None
    if info is not None:
        settings = from_server_info(info[0], live.base_url + info[1])
    elif reading is not None and log is not None:
        settings = from_log(reading, log.text, dp_attention=asked.values.get("enable_dp_attention") == "True")
    model = (settings.values if settings else {}).get("model_path", asked.values.get("model_path"))
    draft = (settings.values if settings else {}).get(
        "speculative_draft_model_path", asked.values.get("speculative_draft_model_path")
    )
    parts = Parts(
        **live.fields(traits_of(asked.values), reading),
        asked=asked,
        cite_asked=live.cite(asked),
        asked_complete=complete,
        settings=settings,
        log=reading,
        version=_version(info, live.port, facts, process),
        needs_api_key=info is None and asks_for_key(live.replies),
        target_config=config_of(facts, model, process.cwd),
        draft_config=config_of(facts, draft, process.cwd),
    )
    return build_view(parts), live.log


def is_sglang_log(reading: LogReading, text: str) -> bool:
    """Whether a log is an SGLang server's: some lines no other engine writes."""
    if reading.server_args is not None or reading.decode or reading.ready_line is not None:
        return True
    if reading.failure is not None and ("sglang/srt/" in text or "sglang/launch_server.py" in text):
        return True
    return bool(reading.version_proofs) and "sglang" in text


def _dead_view(facts: Facts, log: LogFacts) -> ServerView | None:
    text = log.text
    if "sglang" not in text and "server_args=" not in text and "Decode batch" not in text:
        return None
    reading = read_log(text, where=log.path)
    if not is_sglang_log(reading, text):
        return None
    arguments = reading.server_args or {}
    settings = from_log(reading, text, dp_attention=arguments.get("enable_dp_attention") is True)
    return build_view(
        Parts(
            state="down",
            settings=settings,
            log=reading,
            log_path=log.path,
            keeper=GONE,
            target_config=config_of(facts, arguments.get("model_path"), None),
            draft_config=config_of(facts, arguments.get("speculative_draft_model_path"), None),
        )
    )


def servers_in(facts: Facts) -> tuple[ServerView, ...]:
    """Every SGLang server that the facts show: first the living, then logs whose process is gone."""
    return servers_shown(facts, is_launch, _live_view, _dead_view)
