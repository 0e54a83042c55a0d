"""Read a TensorRT-LLM log: version, start, and why it failed. Speeds and acceptance are in its metrics, not here."""

from __future__ import annotations

import re
from collections import Counter

from specdoctor.core.redact import redact
from specdoctor.core.server import Failure, LogReading, Notice, Source
from specdoctor.engines.explanation import Explanation, explanation
from specdoctor.engines.log_carriers import quote_from, without_colours

OWN = re.compile(r"\[TensorRT-LLM\]|\[TRT-LLM\]|site-packages/tensorrt_llm/")
_VERSION = re.compile(r"TensorRT-LLM version: v?(?P<version>\d+\.\d+\.\d+[\w.]*)")
READY = r"Application startup complete|Uvicorn running on"
_READY = re.compile(READY)
_SHUTDOWN = re.compile(r"Shutting down|SIGTERM received|Received SIGTERM")
_ERROR = re.compile(r"^(?:\[[^\]]*\] ?)*(?P<text>\w*(?:Error|Exception): .*)|\[E\] (?P<logged>.*)")
_MAX_MESSAGE = 4000
_MAX_PER_KIND = 20
_NOTICES = (
    ("gate", "acceptance rate", False),
    ("gate", "speculation is disabled", False),
    ("one-model", "one_model", False),
    ("draft-weights", "Loading draft weights", True),
    ("ignored", "will be ignored", False),
    ("deprecated", "is deprecated", True),
)
FAILURES: tuple[Explanation, ...] = (
    explanation(
        "too-few-layers",
        r"Not enough hidden layers for default EAGLE3 capture",
        "the target has too few layers for the default states of an EAGLE-3 drafter",
        "WIRE-1",
        "name the layers it was trained on in eagle3_layers_to_capture",
    ),
    explanation(
        "unknown-key",
        r"Extra inputs are not permitted|extra_forbidden|got an unexpected keyword argument '(?P<key>\w+)'",
        "the options file has a key that this release does not know ({key})",
        None,
        "compare the file with the options of this release",
    ),
    explanation(
        "memory",
        r"out of memory|OutOfMemoryError|[Ii]nsufficient memory",
        "the GPU ran out of memory",
        "MEM-1",
        "lower kv_cache_config.free_gpu_memory_fraction or max_batch_size",
    ),
    explanation(
        "port", r"address already in use", "the port is taken by another process", None, "choose another --port"
    ),
)


def read_log(text: str, *, where: str) -> LogReading:
    """A log of any release; unknown lines cost nothing."""
    lines = text.split("\n")
    version: str | None = None
    source: Source | None = None
    ready = shutdown = None
    errors: list[tuple[int, str]] = []
    notices: list[Notice] = []
    kinds: Counter[str] = Counter()
    for number, raw in enumerate(lines, start=1):
        if not raw or raw.isspace():
            continue
        message = without_colours(raw[:_MAX_MESSAGE].rstrip("\r"))
        match = _VERSION.search(message) if version is None and "TensorRT-LLM version" in message else None
        if match is not None:
            version = match["version"]
            source = Source(where=where, line=number, quote=quote_from(raw, match[0]))
        if _READY.search(message):
            ready = ready or number
        elif _SHUTDOWN.search(message):
            shutdown = shutdown or number
        elif "Error" in message or "Exception" in message or "[E]" in message or "address already" in message:
            errors.append((number, message))
        row = next((r for r in _NOTICES if r[1] in message), None)
        if row is not None:
            kinds[row[0]] += 1
            if kinds[row[0]] <= _MAX_PER_KIND:
                notices.append(Notice(line=number, kind=row[0], text=quote_from(raw, message), benign=row[2]))
    return LogReading(
        where=where,
        lines=len(lines) - (1 if lines and not lines[-1] else 0),
        version=version,
        version_source=source,
        notices=tuple(notices),
        ready_line=ready,
        shutdown_line=shutdown,
        failure=None if ready is not None else _failure(lines, errors),
        last_lines=tuple(redact(line.strip()[:300]) for line in lines if line.strip())[-20:],
    )


def _failure(lines: list[str], errors: list[tuple[int, str]]) -> Failure | None:
    """The first error that is known, else the last one that names an exception."""
    for number, message in errors:
        for row in FAILURES:
            match = row.pattern.search(message)
            if match is not None:
                groups = {key: redact(value)[:200] if value else "" for key, value in match.groupdict().items()}
                meaning = " ".join(row.meaning.format_map(groups).replace(" ()", "").split())
                quote = quote_from(lines[number - 1], message)
                return Failure(line=number, quote=quote, meaning=meaning, cause=row.cause, next_step=row.next_step)
    for number, message in reversed(errors):
        match = _ERROR.search(message)
        if match is not None:
            told = redact((match["text"] or match["logged"] or "").strip())[:160].rstrip(". ")
            quote = quote_from(lines[number - 1], message)
            return Failure(
                line=number, quote=quote, meaning=f"the start ended with {told}", cause=None,
                next_step="read the traceback above this line",
            )  # fmt: skip
    return None
