"""Read a whole llama.cpp log, of any build, in one pass: the server's, and that of the example programs.

A file may hold several starts, one after the other; what is returned tells of the last one. Line numbers count newline
bytes from 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from specdoctor.core.redact import redact
from specdoctor.core.server import LogReading, Notice, Source, StartTimes
from specdoctor.engines.llamacpp_failure import find_failure, is_suspect
from specdoctor.engines.llamacpp_notices import MAX_PER_KIND, STATISTICS, find_notice
from specdoctor.engines.llamacpp_prefix import message_of, seconds_of
from specdoctor.engines.llamacpp_ready import READY
from specdoctor.engines.llamacpp_settings import MARKS, Seen, loaded_file, settings_in, vocabulary_size
from specdoctor.engines.llamacpp_timing import TimingReader
from specdoctor.engines.llamacpp_version import Proof, narrow, proof_in, version_in
from specdoctor.engines.log_carriers import quote_from
from specdoctor.engines.suspects import Suspects

_READY = re.compile(READY)
_SHUTDOWN = re.compile(r"cleaning up before exit|[Rr]eceived (?:SIGTERM|SIGINT|second interrupt)")
_NEW_START = re.compile(r"llama_server: initializing|\bbuild(?: =|:) \d+ \(|load_model: loading model '")
_BEGINS = ("initializing", "build", "loading model")
_REQUESTS = (
    "eval time", "draft acceptance", "acc per pos", "#gen drafts", "launch_slot_", "stop processing", "decoded ",
    "n_draft", "n_predict", "n_accept",
)  # fmt: skip
_OWN = re.compile(
    r"llama_(?:server|context|model_load|model_loader|init_from_model|perf_context|print_timings|load_model)|\bggml_"
    r"|\bslot\s+[\w()]+: id |\bsrv\s+[\w()]+: |main: build = \d|\bbuild: \d+ \(|llm_load_print_meta|common_speculative"
    r"|load_model: loading (?:draft )?model '|draft acceptance(?: rate)? = |statistics\s+[\w-]+: #calls"
)
_LAST_LINES = 20


@dataclass
class _Start:
    """What is gathered of one start; replaced when the next one begins."""

    timing: TimingReader = field(default_factory=TimingReader)
    seen: dict[str, Seen] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    proofs: dict[str, Proof] = field(default_factory=dict)
    suspects: list[int] = field(default_factory=list)
    version: str | None = None
    version_source: Source | None = None
    first_at: float | None = None
    ready_at: float | None = None
    ready_line: int | None = None
    shutdown_line: int | None = None
    files: list[str] = field(default_factory=list)

    @property
    def busy(self) -> bool:
        return self.ready_line is not None or self.shutdown_line is not None or bool(self.timing.requests)


@dataclass(frozen=True)
class LlamaLog:
    """A reading, and where each setting in force was said."""

    reading: LogReading
    seen: dict[str, Seen]


class _Reader:
    def __init__(self, lines: Sequence[str], where: str) -> None:
        self._lines = lines
        self._where = where
        self.start = _Start()

    def run(self) -> None:
        for number, raw in enumerate(self._lines, start=1):
            if raw and not raw.isspace():
                self._take(number, raw)

    def _take(self, number: int, raw: str) -> None:
        if any(word in raw for word in _REQUESTS):
            message = message_of(raw)
            self.start.timing.take(message, line=number, at=seconds_of(message))
            self._prove(message, number, raw)
            return
        message = message_of(raw)
        if any(word in raw for word in _BEGINS) and self.start.busy and _NEW_START.search(message):
            self.start = _Start()
        start = self.start
        at = seconds_of(message)
        if start.first_at is None:
            start.first_at = at
        self._take_milestone(number, message, at)
        self._take_version(number, raw, message)
        self._prove(message, number, raw)
        if any(mark in raw for mark in MARKS):
            self._take_settings(number, raw, message)
        if is_suspect(raw):
            start.suspects.append(number)
        self._take_notice(number, raw, message)

    def _take_milestone(self, number: int, message: str, at: float | None) -> None:
        start = self.start
        if start.ready_line is None and _READY.search(message):
            start.ready_line, start.ready_at = number, at
        elif start.shutdown_line is None and _SHUTDOWN.search(message):
            start.shutdown_line = number

    def _take_settings(self, number: int, raw: str, message: str) -> None:
        start = self.start
        for key, value in settings_in(message).items():
            known = start.seen.get(key)
            if known is None:
                start.seen[key] = Seen(value, number, quote_from(raw, message))
            elif key == "spec_type" and str(value) not in str(known.value).split(","):
                start.seen[key] = Seen(f"{known.value},{value}", known.line, known.quote)
        path = loaded_file(message)
        if path is not None and path not in start.files:
            start.files.append(path)
        size = vocabulary_size(message)
        if size is not None and start.files:
            key = "vocab_target" if len(start.files) == 1 else "vocab_draft"
            start.seen.setdefault(key, Seen(size, number, quote_from(raw, message)))

    def _take_version(self, number: int, raw: str, message: str) -> None:
        found = version_in(message) if "build" in raw or "version" in raw else None
        if found is not None and self.start.version is None:
            self.start.version = found[0]
            self.start.version_source = Source(where=self._where, line=number, quote=quote_from(raw, found[1]))

    def _prove(self, message: str, number: int, raw: str) -> None:
        found = proof_in(message)
        if found is not None and found[0].id not in self.start.proofs:
            wording, quote = found
            source = Source(where=self._where, line=number, quote=quote_from(raw, quote))
            self.start.proofs[wording.id] = Proof(source, wording.since, wording.before)

    def _take_notice(self, number: int, raw: str, message: str) -> None:
        row = find_notice(message)
        if row is None:
            return
        self.start.kinds[row.kind] += 1
        if self.start.kinds[row.kind] <= MAX_PER_KIND:
            text = quote_from(raw, message)
            self.start.notices.append(Notice(line=number, kind=row.kind, text=text, benign=row.benign))


def _last_lines(lines: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for raw in reversed(lines):
        if raw.strip():
            kept.append(redact(raw.strip()[:2000])[:300])
        if len(kept) == _LAST_LINES:
            break
    return tuple(reversed(kept))


def is_llamacpp_log(text: str) -> bool:
    """Whether a text is a log of llama.cpp: it holds a line that no other program writes."""
    return _OWN.search(text) is not None


def read_whole(text: str, *, where: str) -> LlamaLog:
    """A log of any build, with the settings that it says are in force."""
    lines = text.split("\n")
    reader = _Reader(lines, where)
    reader.run()
    start = reader.start
    span, proofs = narrow(list(start.proofs.values()))
    ready = start.ready_line is not None or bool(start.timing.requests)
    statistics = tuple(
        Notice(line=line, kind=STATISTICS, text=quote_from(lines[line - 1], quote), benign=True)
        for line, quote in start.timing.statistics.values()
    )
    total = start.ready_at - start.first_at if start.ready_at is not None and start.first_at is not None else None
    values: dict[str, JsonValue] = {key: seen.value for key, seen in start.seen.items()}
    reading = LogReading(
        where=where,
        lines=len(lines) - (1 if lines and not lines[-1] else 0),
        version=start.version,
        version_source=start.version_source,
        version_range=span,
        version_proofs=proofs,
        server_args=values or None,
        server_args_line=min((seen.line for seen in start.seen.values()), default=None),
        notices=(*start.notices, *statistics),
        decode=start.timing.windows(),
        counts=start.timing.counts(),
        prefills=start.timing.prefills,
        start=StartTimes(total_s=total),
        ready_line=start.ready_line,
        shutdown_line=start.shutdown_line,
        failure=find_failure(Suspects(lines=lines, numbers=start.suspects, ready=ready)),
        last_lines=_last_lines(lines),
    )
    return LlamaLog(reading=reading, seen=start.seen)


def read_log(text: str, *, where: str) -> LogReading:
    """A log of any build."""
    return read_whole(text, where=where).reading
