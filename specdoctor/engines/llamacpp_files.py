"""A llama.cpp server from files: log, launch line, /slots, /props and /metrics, told apart by what they hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.launch import opens_flag
from specdoctor.core.launch_text import Command, commands_in
from specdoctor.core.redact import redact_argv
from specdoctor.core.server import ServerView, Source
from specdoctor.engines.given_files import ModelConfig, configs_among, preference, state_by_log
from specdoctor.engines.llamacpp_args import Asked, program_of, read_launch
from specdoctor.engines.llamacpp_counters import counts_between, lifetime_counts
from specdoctor.engines.llamacpp_effect import given_draft, types_asked
from specdoctor.engines.llamacpp_flags import find_flag
from specdoctor.engines.llamacpp_in_force import Settings, parse_props, parse_slots, take_log, take_props, take_slots
from specdoctor.engines.llamacpp_log import LlamaLog, is_llamacpp_log, read_whole
from specdoctor.engines.llamacpp_view import Parts, build_view

_MARKS = (".gguf", "llama-", "llama_cpp", "llama serve", "llama.cpp")


@dataclass(frozen=True)
class _Launch:
    name: str
    text: str
    command: Command
    words: tuple[str, ...]
    asked: Asked


def _is_json(text: str) -> bool:
    head = text.lstrip()
    return head[:1] in ("{", "[") and not head.startswith('{"log":')


def _logs(texts: Mapping[str, str]) -> list[tuple[str, LlamaLog]]:
    found = [
        (name, read_whole(text, where=name))
        for name, text in texts.items()
        if not _is_json(text) and is_llamacpp_log(text)
    ]
    return sorted(found, key=lambda item: (not item[0].endswith(".log"), *preference(item[0]), -item[1].reading.lines))


def _launches(texts: Mapping[str, str], skipped: set[str]) -> list[_Launch]:
    out: list[_Launch] = []
    for name, text in texts.items():
        if name in skipped or _is_json(text) or not any(mark in text[:200_000] for mark in _MARKS):
            continue
        out += [
            _Launch(name, text, command, words, read_launch(words, env=command.env))
            for command in commands_in(text)
            if (words := _server_words(command)) is not None
        ]
    return out


def _server_words(command: Command) -> tuple[str, ...] | None:
    """The server's own line in a command, None for any other; prose that names the program starts nothing."""
    words = command.words
    start = next((i for i in range(len(words)) if program_of(words[i:]) is not None), None)
    if start is None and "llama.cpp" in command.image and words and opens_flag(words[0]):
        return ("llama-server", *words)
    if start is None or not any(find_flag(word.partition("=")[0]) is not None for word in words[start + 1 :]):
        return None
    return words[start:]


def _choose(launches: list[_Launch], log: LlamaLog | None) -> _Launch | None:
    """The launch line that the log fits best: same models, speculation as seen; of equal ones the last."""
    if not launches:
        return None
    seen = {key: one.value for key, one in log.seen.items()} if log is not None else {}
    drafted = log is not None and log.reading.counts is not None

    def fits(launch: _Launch) -> int:
        values = launch.asked.values
        score = sum(2 for key in ("model", "model_draft") if key in values and values[key] == seen.get(key))
        score -= sum(
            2 for key in ("model", "model_draft") if seen.get(key) and values.get(key) not in (None, seen[key])
        )
        asks = bool(types_asked(values)) or given_draft(values) is not None
        return score + (1 if asks == drafted else 0)

    ranked = [(fits(launch), index) for index, launch in enumerate(launches)]
    return launches[max(ranked)[-1]]


def _counts(texts: Mapping[str, str]) -> DraftCounts | None:
    """The server's own counters: the difference of two dumps, else the totals of one."""
    dumps = [name for name, text in texts.items() if "llamacpp:" in text and lifetime_counts(text) is not None]
    ordered = sorted(dumps, key=preference)
    if not ordered:
        return None
    if len(ordered) == 2 and preference(ordered[1])[0] == 1:
        between = counts_between(texts[ordered[1]], texts[ordered[0]])
        if between is not None:
            return between
    return lifetime_counts(texts[ordered[0]])


def _configs(texts: Mapping[str, str]) -> tuple[dict[str, JsonValue] | None, dict[str, JsonValue] | None]:
    """The target's and the drafter's configuration, where files beside the GGUF ones hold them."""

    def is_draft(config: ModelConfig) -> bool:
        classes = f"{config.values.get('architectures')}{config.values.get('general.architecture')}"
        return config.holds("draft_vocab_size") or re.search(r"[Ee]agle|eagle3", classes) is not None

    return configs_among(
        texts,
        ('"architectures"', '"general.architecture"'),
        is_draft=is_draft,
        is_none=lambda config: config.of_another,
    )


def _cite(launch: _Launch, key: str) -> Source | None:
    """Where in the file an argument was asked for: the line that holds its flag, quoted as typed."""
    words = launch.asked.words.get(key)
    if words is None:
        return None
    lines = launch.text.split("\n")
    value = re.compile(r"['\"]?[=\s]+['\"]?".join(re.escape(word) for word in words) + r"(?=[\s'\"\\]|$)")
    for number in range(launch.command.line, min(launch.command.last_line, len(lines)) + 1):
        match = value.search(lines[number - 1])
        if match is not None:
            return Source(where=launch.name, line=number, key=key, quote=match[0])
    return Source(where=launch.name, line=launch.command.line, key=key)


def _settings(texts: Mapping[str, str], log: LlamaLog | None) -> tuple[Settings, bool]:
    """What answers and log show in force, and whether any file is an answer of this engine."""
    settings, answered = Settings(), False
    for name in sorted(texts, key=preference):
        slots = parse_slots(texts[name])
        if slots is not None:
            take_slots(settings, slots, name)
            answered = True
    if log is not None:
        take_log(settings, log)
    for name in sorted(texts, key=preference):
        props = parse_props(texts[name])
        if props is not None:
            take_props(settings, props, name)
            answered = True
    return settings, answered


def view_from_files(texts: Mapping[str, str]) -> ServerView | None:
    """The server that these files tell of, None if none of them is llama.cpp's."""
    logs = _logs(texts)
    name, log = logs[0] if logs else (None, None)
    launch = _choose(_launches(texts, {each for each, _ in logs}), log)
    settings, answered = _settings(texts, log)
    counts = _counts(texts)
    if log is None and launch is None and not answered and counts is None:
        return None
    target, draft = _configs(texts)
    reading = log.reading if log is not None else None
    return build_view(
        Parts(
            state=state_by_log(reading),
            asked=launch.asked if launch is not None else None,
            asked_source=Source(where=launch.name, line=launch.command.line) if launch is not None else None,
            cite_asked=(lambda key: _cite(launch, key)) if launch is not None else lambda _key: None,
            settings=settings,
            log=reading,
            log_path=name,
            argv=redact_argv(launch.words) if launch is not None else (),
            env=launch.command.env if launch is not None else {},
            counts=counts,
            target_config=target,
            draft_config=draft,
        )
    )
