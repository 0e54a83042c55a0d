"""One view of a TensorRT-LLM server, from files or from what a look at a host shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from pydantic import JsonValue

from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.facts import Facts, HttpReply, ProcessFacts
from specdoctor.core.launch import opens_flag
from specdoctor.core.launch_text import Command, commands_in
from specdoctor.core.redact import redact_argv
from specdoctor.core.server import Keeper, LaunchTraits, LogReading, ServerRef, ServerView, Source
from specdoctor.engines.process_facts import config_of, launchers, log_of, packages_of, tree
from specdoctor.engines.trtllm_args import is_launch, port_of, program_end, read_launch
from specdoctor.engines.trtllm_config import (
    SECTION,
    Options,
    asked_setting,
    draft_of,
    is_own,
    read_options,
    rewrites,
    setting_of,
)
from specdoctor.engines.trtllm_log import OWN, read_log
from specdoctor.engines.trtllm_metrics import config_info, iteration_counts, prometheus_counts
from specdoctor.keepers.surroundings import surroundings_of
from specdoctor.keepers.table import keeper_of

NAME = "trtllm"
TRAITS = LaunchTraits(programs=("trtllm-serve", "tensorrt_llm"))
PAPER = "what is said of TensorRT-LLM was read on paper, never seen at work"


def _flat(options: Options) -> dict[str, str]:
    """The speculative options by name, as typed."""
    return {f"{SECTION}.{key}": str(value) for key, value in options.speculative.items()}


def _view(
    *, values: dict[str, str], options: Options, log: LogReading | None, asked_source: Source | None, **rest: JsonValue
) -> ServerView:
    """`rest` are further fields of the view, as they are."""
    model = values.get("model") or str(options.values.get("model") or "") or None
    known = bool(options.values)
    found = ServerView(
        engine=NAME,
        state="running",
        version_doubts=(PAPER,),
        asked={**values, **_flat(options)},
        asked_source=options.cite(SECTION) or asked_source,
        effective={str(key): value for key, value in options.values.items()},
        effective_source=options.cite(SECTION),
        asked_spec=asked_setting(options.speculative) if known else None,
        spec=setting_of(options.speculative) if known else None,
        rewrites=rewrites(options),
        log=log,
        model_path=model,
        draft_path=draft_of(options.speculative),
        served_model=model,
        keeper=Keeper(kind="unknown", reason="no process was looked at"),
    )
    return found.model_copy(update=rest)


def _server_words(command: Command) -> tuple[str, ...] | None:
    words = command.words
    start = next((i for i in range(len(words)) if program_end(words[i:]) is not None), None)
    if start is None or not any(opens_flag(word) for word in words[start + 1 :]):
        return None
    return words[start:]


def _counts(texts: Mapping[str, str]) -> DraftCounts | None:
    for text in texts.values():
        counts = iteration_counts(text) or prometheus_counts(text)
        if counts is not None:
            return counts
    return None


def view_from_files(texts: Mapping[str, str]) -> ServerView | None:
    """The server that these files tell of, None if none of them is TensorRT-LLM's."""
    logs = [(name, text) for name, text in texts.items() if text.lstrip()[:1] != "{" and OWN.search(text)]
    launches = [
        (name, command, words)
        for name, text in texts.items()
        if "trtllm-" in text[:200_000] or "tensorrt_llm" in text[:200_000]
        for command in (commands_in(text) if (name, text) not in logs else ())
        if (words := _server_words(command)) is not None
    ]
    read = [options for name, text in texts.items() if (options := read_options(text, where=name)) is not None]
    own = [options for options in read if is_own(options)]
    counts = _counts(texts)
    if not logs and not launches and not own and counts is None:
        return None
    name, command, words = launches[-1] if launches else ("", None, ())
    values = read_launch(words)
    named = PurePosixPath(values.get("config", "")).name
    options = next((o for o in read if named and PurePosixPath(o.where).name == named), None) or next(iter(own), None)
    log = read_log(logs[0][1], where=logs[0][0]) if logs else None
    down = log is not None and (log.failure is not None or log.shutdown_line is not None)
    starting = log is not None and log.ready_line is None
    return _view(
        values=values,
        options=options or Options(),
        log=log,
        asked_source=Source(where=name, line=command.line) if command is not None else None,
    ).model_copy(
        update={
            "state": "down" if down else "starting" if starting else "running",
            "version": log.version if log is not None else None,
            "version_source": log.version_source if log is not None else None,
            "argv": redact_argv(words),
            "env": command.env if command is not None else {},
            "lifetime_counts": counts,
            "lifetime_accept_length": counts.accept_length if counts is not None else None,
            "log_path": logs[0][0] if logs else None,
        }
    )


def _live(facts: Facts, process: ProcessFacts) -> ServerView:
    values = read_launch(process.argv)
    pids = tree(facts, process.pid)
    port = port_of(values)
    replies = facts.http.get(str(port), {})
    path = values.get("config", "")
    file = facts.files.get(path) or facts.files.get(str(PurePosixPath(process.cwd or "/") / path))
    options = read_options(file.text, where=path) if file is not None and file.text else None
    found = log_of(facts, process, pids)
    log = read_log(found.text, where=found.path) if found is not None else None
    series = _body(replies, "/prometheus/metrics")
    where, packages = packages_of(facts, process)
    package = packages.get("tensorrt-llm")
    counts = prometheus_counts(series)
    view = _view(
        values=values,
        options=options or Options(),
        log=log,
        asked_source=Source(where=f"command line of pid {process.pid}"),
    )
    told = config_info(series)
    if told.get("spec_enabled", "").lower() in ("false", "0"):
        view = view.model_copy(update={"spec": asked_setting({})})
    answers = any(reply.status is not None and reply.status < 500 for reply in replies.values())
    return view.model_copy(
        update={
            "state": "running" if answers or (log is not None and log.ready_line is not None) else "starting",
            "ref": ServerRef(pid=process.pid, start_ticks=process.start_ticks, port=port),
            "version": package.version if package is not None else log.version if log is not None else None,
            "version_source": Source(where=where, key="tensorrt-llm", quote=package.version)
            if package is not None
            else log.version_source
            if log is not None
            else None,
            "argv": process.argv,
            "env": dict(process.env),
            "started_at": process.started_at,
            "keeper": keeper_of(facts, process, TRAITS, port=port),
            "surroundings": surroundings_of(facts, process, TRAITS),
            "target_config": config_of(facts, view.model_path, process.cwd),
            "draft_config": config_of(facts, view.draft_path, process.cwd),
            "lifetime_counts": counts,
            "log_path": found.path if found is not None else None,
        }
    )


def _body(replies: Mapping[str, HttpReply], path: str) -> str:
    reply = replies.get(path)
    return reply.body if reply is not None and reply.status == 200 else ""


def servers_in(facts: Facts) -> tuple[ServerView, ...]:
    """Every TensorRT-LLM server that the facts show running."""
    return tuple(_live(facts, process) for process in launchers(facts, is_launch))
