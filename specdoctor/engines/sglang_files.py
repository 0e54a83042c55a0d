"""A server from files alone: its log, launch line and server-info document, told apart by what they hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from specdoctor.core.redact import redact_argv
from specdoctor.core.server import LogReading, ServerView, Source
from specdoctor.engines.argument_values import same_value
from specdoctor.engines.given_files import GivenLog, ModelConfig, configs_among, is_object, preference, state_by_log
from specdoctor.engines.known_version import KnownVersion, written_down
from specdoctor.engines.sglang_args import Asked, flags_start, read_flags
from specdoctor.engines.sglang_in_force import Settings, from_log, from_server_info, parse_server_info
from specdoctor.engines.sglang_live import is_sglang_log
from specdoctor.engines.sglang_log import READY, read_log
from specdoctor.engines.sglang_script import LaunchLine, launch_lines, source_of
from specdoctor.engines.sglang_view import Parts, build_view
from specdoctor.engines.versions import parse_range

_LOG_MARKS = ("server_args=", "Decode batch", READY, "Load weight end", "sglang/srt/", "sglang/launch_server.py")
_STATED = re.compile(
    r"\bsglang(?:\[[\w,]+\])?(?: version)?\s*(?:==|@|:|=)?\s*v?"
    r"(?P<version>\d+\.\d+\.\d+(?:\.?(?:post|dev|rc)\d+)*(?:\+[\w.]+)?)(?![\w])(?!\s*(?:to|->|\u2192)\s*v?\d)",
    re.IGNORECASE,
)
_SPEC_KEYS = (
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_draft_model_path",
    "model_path",
    "served_model_name",
    "port",
    "host",
    "tp_size",
    "dp_size",
)


@dataclass(frozen=True)
class _Launch:
    name: str
    text: str
    line: LaunchLine


def _logs(texts: Mapping[str, str]) -> list[GivenLog]:
    found: list[GivenLog] = []
    for name, text in texts.items():
        if is_object(text) or not any(mark in text for mark in _LOG_MARKS):
            continue
        reading = read_log(text, where=name)
        if is_sglang_log(reading, text):
            found.append(GivenLog(name, text, reading))
    return sorted(found, key=lambda log: (not log.name.endswith(".log"), *preference(log.name), -log.reading.lines))


def _infos(texts: Mapping[str, str]) -> list[tuple[str, dict[str, JsonValue]]]:
    found = [(name, parse_server_info(text)) for name, text in texts.items() if text.lstrip()[:1] == "{"]
    return sorted(((n, info) for n, info in found if info is not None), key=lambda item: preference(item[0]))


def _launches(texts: Mapping[str, str], logs: list[GivenLog]) -> list[_Launch]:
    skipped = {log.name for log in logs}
    return [
        _Launch(name, text, line)
        for name, text in texts.items()
        if name not in skipped and text.lstrip()[:1] != "{"
        for line in launch_lines(text)
    ]


def _agreement(asked: Mapping[str, str], values: Mapping[str, JsonValue]) -> int:
    """How far a launch line and values in force tell of the same server."""
    score = 0
    for key in _SPEC_KEYS:
        in_asked, in_force = key in asked, values.get(key) is not None
        if in_asked and key in values:
            same = same_value(asked[key], values[key]) or asked[key].upper() == "NEXTN"
            score += 2 if same else -1
        elif key == "speculative_algorithm" and in_asked != in_force and key in values:
            score -= 3
    return score


def _same_server(info: Mapping[str, JsonValue], values: Mapping[str, JsonValue]) -> int:
    return sum(1 if info.get(key) == values[key] else -1 for key in _SPEC_KEYS if key in values)


def _choose_info(
    infos: list[tuple[str, dict[str, JsonValue]]], log: GivenLog | None
) -> tuple[str, dict[str, JsonValue]] | None:
    if not infos:
        return None
    values = log.reading.server_args if log is not None and log.reading.server_args else {}
    speculates = log is not None and any(w.accept_length is not None for w in log.reading.decode)
    best = max(_same_server(info, values) for _, info in infos)
    fitting = [item for item in infos if _same_server(item[1], values) == best]
    with_spec = [item for item in fitting if item[1].get("speculative_algorithm")]
    return (with_spec if speculates and with_spec else fitting)[0]


def _choose_launch(launches: list[_Launch], values: Mapping[str, JsonValue]) -> _Launch | None:
    """The launch line of the server that the other files show; without them the last one that speculates."""
    if not launches:
        return None
    ranked = [
        (
            launch.line.direct,
            _agreement(launch.line.asked.values, values),
            "speculative_algorithm" in launch.line.asked.values,
            index,
        )
        for index, launch in enumerate(launches)
    ]
    return launches[max(ranked)[-1]]


def _version(
    info: tuple[str, dict[str, JsonValue]] | None,
    launch: _Launch | None,
    texts: Mapping[str, str],
    skipped: set[str],
    log: LogReading | None,
) -> KnownVersion:
    stated = info[1].get("version") if info is not None else None
    if isinstance(stated, str) and stated and info is not None:
        return KnownVersion(stated, Source(where=info[0], key="version", quote=stated))
    if launch is not None and launch.line.image_version:
        number = _line_of(launch.text, launch.line.image_quote, launch.line)
        source = Source(where=launch.name, line=number, quote=launch.line.image_quote)
        return KnownVersion(
            launch.line.image_version, source, ("the version is the image tag's, not the server's word",)
        )
    proved = parse_range(log.version_range if log is not None else None)
    return written_down(
        texts, skipped, _STATED, word="glang", fits=lambda found: proved.contains(found) or found.is_development
    )


def _line_of(text: str, quote: str, launch: LaunchLine) -> int:
    """The line of an image: in the command, else the nearest above it, else the first below."""
    lines = text.split("\n")
    inside = range(launch.line, min(launch.last_line, len(lines)) + 1)
    order = (*inside, *range(launch.line - 1, 0, -1), *range(launch.last_line + 1, len(lines) + 1))
    return next((n for n in order if quote in lines[n - 1]), launch.line)


def _configs(texts: Mapping[str, str]) -> tuple[dict[str, JsonValue] | None, dict[str, JsonValue] | None]:
    """The target's and the draft's config.json: by folder or file name, else by what the draft's class shows."""
    beside_target = any("target" in name.lower() for name in texts)

    def is_draft(config: ModelConfig) -> bool:
        classes = f"{config.values.get('architectures')}{config.values.get('model_type')}"
        shown = re.search(r"[Ee]agle|NextN|MTP|Speculator", classes) is not None
        return shown or config.holds("draft_vocab_size", "eagle_config") or (config.is_bare and beside_target)

    def is_none(config: ModelConfig) -> bool:
        return config.of_another or config.holds("internal_states", "speculative_algorithm", "model_path")

    return configs_among(texts, ('"architectures"', '"model_type"'), is_draft=is_draft, is_none=is_none)


def _asked_of_info(info: tuple[str, dict[str, JsonValue]] | None) -> tuple[Asked, tuple[str, ...]] | None:
    """What the user typed, where the document keeps it (`launch_command`)."""
    command = info[1].get("launch_command") if info is not None else None
    if not isinstance(command, str):
        return None
    words = command.split()
    start = flags_start(words)
    return (read_flags(words[start:]), redact_argv(words)) if start is not None else None


def view_from_files(texts: Mapping[str, str]) -> ServerView | None:
    """The server that these files tell of, None if none of them is SGLang's."""
    logs = _logs(texts)
    infos = _infos(texts)
    launches = _launches(texts, logs)
    log = logs[0] if logs else None
    info = _choose_info(infos, log)
    values = info[1] if info is not None else (log.reading.server_args or {} if log is not None else {})
    launch = _choose_launch(launches, values)
    if log is None and info is None and launch is None:
        return None
    if log is not None and launch is not None:
        log = GivenLog(log.name, log.text, read_log(log.text, where=log.name, argv=launch.line.argv))
    reading = log.reading if log is not None else None
    asked = launch.line.asked if launch is not None else None
    argv = redact_argv(launch.line.argv) if launch is not None else ()
    asked_source = Source(where=launch.name, line=launch.line.line) if launch is not None else None
    typed = _asked_of_info(info) if launch is None else None
    if typed is not None and info is not None:
        asked, argv = typed
        asked_source = Source(where=info[0], key="launch_command")
    target, draft = _configs(texts)
    dp_attention = asked is not None and asked.values.get("enable_dp_attention") == "True"
    settings: Settings | None = None
    if info is not None:
        settings = from_server_info(info[1], info[0])
    elif log is not None and reading is not None:
        settings = from_log(reading, log.text, dp_attention=dp_attention)

    def cite(key: str) -> Source | None:
        if launch is not None:
            return source_of(launch.line, key, launch.text, where=launch.name)
        words = asked.words.get(key) if asked is not None else None
        return (
            Source(where=info[0], key="launch_command", quote=" ".join(words)) if words and info is not None else None
        )

    return build_view(
        Parts(
            state=state_by_log(reading),
            asked=asked,
            asked_source=asked_source,
            cite_asked=cite,
            asked_complete=asked is not None and "config" not in asked.values,
            settings=settings,
            log=reading,
            log_path=log.name if log is not None else None,
            version=_version(info, launch, texts, {item.name for item in logs}, reading),
            argv=argv,
            env=launch.line.env if launch is not None else {},
            target_config=target,
            draft_config=draft,
        )
    )
