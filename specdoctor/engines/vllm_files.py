"""A vLLM server from files alone: its log, launch line, /server_info and metrics, told apart by what they hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from specdoctor.core.launch_text import Command, commands_in
from specdoctor.core.redact import redact_argv
from specdoctor.core.server import LogReading, ServerView, Source
from specdoctor.engines.given_files import (
    EARLIER,
    GivenLog,
    ModelConfig,
    configs_among,
    is_object,
    preference,
    state_by_log,
)
from specdoctor.engines.known_version import KnownVersion, written_down
from specdoctor.engines.versions import parse_version
from specdoctor.engines.vllm_args import METHOD, MODEL, TOKENS, Asked, flags_start, read_driver, read_launch
from specdoctor.engines.vllm_config import ServerInfo, parse_server_info
from specdoctor.engines.vllm_counters import lifetime_counts
from specdoctor.engines.vllm_log import read_log
from specdoctor.engines.vllm_view import Parts, Settings, build_view, settings_of_log

_LOG_MARKS = ("LLM engine (v", "Avg generation throughput", "SpecDecoding metrics", "non-default args: ",
              "vLLM API server version", "(EngineCore", "(APIServer pid=", "vllm/v1/", "vllm/engine/")  # fmt: skip
_EARLIER = re.compile(EARLIER.pattern + r"|single|reference")
_IMAGE_VERSION = re.compile(r"(?:vllm-openai|/vllm)[:@]v?(?P<version>\d+\.\d+\.\d+\w*)")
_STATED = re.compile(
    r"\bvllm(?: version)?\s*(?:==|@|:|=)?\s*v?(?P<version>\d+\.\d+\.\d+\w*(?:\.\w+)*+)(?!\s*(?:to|->|\u2192)\s*v?\d)",
    re.IGNORECASE,
)
_PROCESS = re.compile(r"^\((?:EngineCore|APIServer|Worker)\w* pid=\d+\)", re.MULTILINE)
_STARTS = re.compile(r"vllm|spec_decode\.py")


@dataclass(frozen=True)
class _Launch:
    """A command that starts a server: `words` is the program's own line, `wrapper` what stands before it (an image)."""

    name: str
    text: str
    command: Command
    wrapper: tuple[str, ...]
    words: tuple[str, ...]
    asked: Asked


def _preference(name: str) -> tuple[int, int, str]:
    return preference(name, _EARLIER)


def is_vllm_log(reading: LogReading) -> bool:
    """Whether a log is a vLLM server's: some lines no other engine writes."""
    return bool(
        reading.server_args is not None
        or reading.asked_args is not None
        or reading.decode
        or reading.counts is not None
        or reading.version is not None
    )


def _logs(texts: Mapping[str, str]) -> list[GivenLog]:
    found: list[GivenLog] = []
    for name, text in texts.items():
        if is_object(text) or not any(mark in text for mark in _LOG_MARKS):
            continue
        reading = read_log(text, where=name)
        if is_vllm_log(reading) or (reading.failure is not None and _PROCESS.search(text)):
            found.append(GivenLog(name, text, reading))
    return sorted(found, key=lambda log: (not log.name.endswith(".log"), *_preference(log.name), -log.reading.lines))


def _launches(texts: Mapping[str, str], skipped: set[str]) -> list[_Launch]:
    found: list[_Launch] = []
    for name, text in texts.items():
        if name in skipped or text.lstrip()[:1] == "{" or not _STARTS.search(text):
            continue
        served = _started(name, text, lambda words: read_launch(words) if flags_start(words) is not None else None)
        found += served or _started(name, text, read_driver)
    return found


def _started(name: str, text: str, read: Callable[[Sequence[str]], Asked | None]) -> list[_Launch]:
    """The commands of a text in which `read` finds its program, whatever wraps it.

    A container's image stands before its arguments, where it may be that program.
    """
    found: list[_Launch] = []
    for command in commands_in(text):
        words = [command.image, *command.words] if command.image else list(command.words)
        for start in range(len(words)):
            asked = read(words[start:])
            if asked is not None:
                found.append(_Launch(name, text, command, tuple(words[:start]), tuple(words[start:]), asked))
                break
    return found


def _infos(texts: Mapping[str, str]) -> list[tuple[str, ServerInfo]]:
    found = [(name, parse_server_info(text)) for name, text in texts.items() if text.lstrip()[:1] == "{"]
    return sorted(((n, info) for n, info in found if info is not None), key=lambda item: _preference(item[0]))


def _agreement(asked: Mapping[str, str], values: Mapping[str, JsonValue]) -> int:
    """How far a launch line and values in force tell of the same server."""
    score = 0
    for key in (METHOD, MODEL, TOKENS, "model", "port"):
        if key in asked and values.get(key) is not None:
            score += 2 if asked[key].rstrip("/") == str(values[key]).rstrip("/") else -1
        elif key == TOKENS and values and (key in asked) != (values.get(key) is not None):
            score -= 3
    return score


def _values(log: GivenLog | None, info: tuple[str, ServerInfo] | None) -> dict[str, JsonValue]:
    if info is not None:
        return info[1].values
    if log is None:
        return {}
    asked: dict[str, JsonValue] = dict(log.reading.asked_args or {})
    nested = asked.get("speculative_config")
    for key, value in nested.items() if isinstance(nested, dict) else ():
        asked[f"speculative_config.{key}"] = value
    return {**asked, **(log.reading.server_args or {})}


def _choose_launch(launches: list[_Launch], values: Mapping[str, JsonValue]) -> _Launch | None:
    """The launch line of the server that the other files show; without them the last one that speculates."""
    if not launches:
        return None
    ranked = [
        (_agreement(one.asked.values, values), any(k.startswith("speculative_config") for k in one.asked.values),
         *[-n for n in _preference(one.name)[:2]], index)
        for index, one in enumerate(launches)
    ]  # fmt: skip
    return launches[max(ranked)[-1]]


def _version(
    log: LogReading | None, launch: _Launch | None, texts: Mapping[str, str], skipped: set[str]
) -> KnownVersion:
    if log is not None and log.version is not None:
        return KnownVersion(log.version, log.version_source)
    for name, text in texts.items():
        found = _version_answer(text)
        if found is not None:
            return KnownVersion(found, Source(where=name, key="version", quote=found))
    tag = next((m for word in launch.wrapper if (m := _IMAGE_VERSION.search(word))), None) if launch else None
    tag = tag or (_IMAGE_VERSION.search(launch.words[0]) if launch else None)
    if tag is not None and launch is not None:
        lines = launch.text.split("\n")
        line = next((n for n, raw in enumerate(lines, start=1) if tag[0] in raw), launch.command.line)
        source = Source(where=launch.name, line=line, quote=tag[0])
        return KnownVersion(tag["version"], source, ("the version is the image tag's, not the server's word",))
    return written_down(texts, skipped, _STATED, word="vllm", most_of_line=2000)


def _version_answer(text: str) -> str | None:
    """The version in an answer of /version."""
    if len(text) > 200 or '"version"' not in text:
        return None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = parsed.get("version") if isinstance(parsed, dict) and len(parsed) == 1 else None
    return found if isinstance(found, str) and parse_version(found) is not None else None


def _configs(texts: Mapping[str, str]) -> tuple[dict[str, JsonValue] | None, dict[str, JsonValue] | None]:
    """The target's and the draft's config.json: by folder or file name, else by what the draft's class shows."""
    beside_target = any("target" in name.lower() for name in texts)

    def is_draft(config: ModelConfig) -> bool:
        classes = f"{config.values.get('architectures')}{config.values.get('model_type')}"
        shown = re.search(r"[Ee]agle|NextN|MTP|Speculator|DFlash|DSpark|Medusa", classes) is not None
        return shown or config.holds("draft_vocab_size", "eagle_config") or (config.is_bare and beside_target)

    return configs_among(
        texts,
        ('"architectures"', '"model_type"'),
        is_draft=is_draft,
        is_none=lambda config: config.holds("vllm_config"),
        earlier=_EARLIER,
    )


def _source_of(launch: _Launch, key: str) -> Source | None:
    """Where in the file an argument was asked for: the line that holds its flag."""
    words = launch.asked.words.get(key)
    if not words:
        return None
    lines = launch.text.split("\n")
    for number in range(launch.command.line, min(launch.command.last_line, len(lines)) + 1):
        at = lines[number - 1].find(words[0])
        if at >= 0:
            quote = lines[number - 1][at:].rstrip("\\ \r")[:200]
            return Source(where=launch.name, line=number, key=key, quote=quote)
    return Source(where=launch.name, line=launch.command.line, key=key)


def view_from_files(texts: Mapping[str, str]) -> ServerView | None:
    """The server that these files tell of, None if none of them is vLLM's."""
    logs = _logs(texts)
    infos = _infos(texts)
    skipped = {log.name for log in logs}
    launches = _launches(texts, skipped)
    log = next((one for one in logs if one.reading.counts is not None), logs[0]) if logs else None
    info = infos[0] if infos else None
    counts = lifetime_counts(texts)
    if log is None and info is None and not launches:
        return None
    launch = _choose_launch(launches, _values(log, info))
    reading = log.reading if log is not None else None
    settings = Settings.of_info(info[1], info[0]) if info is not None else None
    if settings is None and log is not None:
        settings = settings_of_log(log.reading, log.text)
    target, draft = _configs(texts)
    asked_source = Source(where=launch.name, line=launch.command.line) if launch is not None else None
    return build_view(
        Parts(
            state=state_by_log(reading, serves=reading is not None and bool(reading.counts)),
            asked=launch.asked if launch is not None else None,
            asked_source=asked_source,
            cite_asked=(lambda key: _source_of(launch, key)) if launch is not None else (lambda _key: None),
            asked_complete=launch is None or not (launch.asked.open or "config" in launch.asked.values),
            settings=settings,
            log=reading,
            log_text=log.text if log is not None else "",
            log_path=log.name if log is not None else None,
            version=_version(reading, launch, texts, skipped),
            argv=redact_argv(launch.words) if launch is not None else (),
            env=launch.command.env if launch is not None else {},
            target_config=target,
            draft_config=draft,
            counts=counts,
        )
    )
