"""Read a whole vLLM log, of any version and both engines (V1, V0), in one pass.

A file may hold several starts, one after the other; what is returned tells of the last one. Line numbers count newline
bytes from 1.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.redact import redact
from specdoctor.core.server import LogReading, Notice, Source
from specdoctor.engines.log_carriers import quote_from
from specdoctor.engines.stamp_clock import StampClock
from specdoctor.engines.suspects import Suspects
from specdoctor.engines.versions import ANY, VersionRange
from specdoctor.engines.vllm_config import parse_asked
from specdoctor.engines.vllm_decode import (
    ENGINE_MARK,
    OLD_SPEC_MARK,
    SPEC_MARK,
    EngineLine,
    OldTotals,
    SpecLine,
    parse_engine,
    parse_old_spec,
    parse_spec,
    windows,
)
from specdoctor.engines.vllm_failure import find_failure, is_suspect
from specdoctor.engines.vllm_prefix import YEAR, split_line
from specdoctor.engines.vllm_rules import MAX_PER_KIND, find_row
from specdoctor.engines.vllm_startup import Startup

READY = "Application startup complete"
_ASKED = "non-default args: "
_NEW_START = (_ASKED, "vLLM API server version ", "LLM engine (v")
_SHUTDOWN = ("API server: shutdown triggered", "INFO:     Shutting down", "Received SIGTERM", "Received signal SIGTERM",
             "Gracefully stopping http server", "trigger received signal=SIGTERM")  # fmt: skip
_ACCESS = " HTTP/1."
_MAX_LINES = 100_000
_LAST_LINES = 20
_DULL = 50  # one place in the source prints one form of line: what said nothing so often says nothing
_MAX_MESSAGE = 4000
_NEWER_ORDER = VersionRange.of("0.10.1")
_OLDER_ORDER = VersionRange.of(None, "0.10.2")
_NO_BONUS = VersionRange.of(None, "0.9.0")


@dataclass
class _Start:
    """What is gathered of one start; replaced when the next one begins."""

    startup: Startup = field(default_factory=Startup)
    engine_lines: deque[EngineLine] = field(default_factory=lambda: deque(maxlen=_MAX_LINES))
    notices: list[Notice] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    proofs: dict[str, tuple[VersionRange, Source]] = field(default_factory=dict)
    suspects: list[int] = field(default_factory=list)
    counts: DraftCounts | None = None
    totals: OldTotals | None = None
    ready_line: int | None = None
    shutdown_line: int | None = None
    lines_seen: int = 0


class _LogReader:
    """State of the pass over one log."""

    def __init__(self, lines: Sequence[str], where: str) -> None:
        self._lines = lines
        self._where = where
        self._clock = StampClock(YEAR)
        self._dull: Counter[tuple[str, str]] = Counter()
        self.start = _Start()

    def run(self) -> None:
        for number, raw in enumerate(self._lines, start=1):
            if ENGINE_MARK in raw:
                self._take_engine(number, raw)
            elif SPEC_MARK in raw or OLD_SPEC_MARK in raw:
                self._take_spec(number, raw)
            elif raw and not raw.isspace() and (_ACCESS not in raw or _ASKED in raw):
                self._take_other(number, raw)

    def _take_engine(self, number: int, raw: str) -> None:
        line = split_line(raw[:_MAX_MESSAGE])
        found = parse_engine(line.message, line=number, at=self._clock.seconds(line.stamp))
        if found is not None:
            self.start.engine_lines.append(found)
            self.start.lines_seen += 1

    def _take_spec(self, number: int, raw: str) -> None:
        start = self.start
        message = split_line(raw[:_MAX_MESSAGE]).message
        spec = parse_spec(message, line=number)
        if spec is not None:
            self._prove_spec(spec, message, number, raw)
        else:
            totals = parse_old_spec(message)
            if totals is None:
                return
            known = start.totals is not None or start.startup.init is not None
            counts = totals.since(start.totals) if known else None
            start.totals = totals
            spec = SpecLine(number, counts.accept_length if counts else None, totals.rate, counts)
            if counts is None and not known:
                start.counts = totals.since(None)
        if spec.counts is not None:
            start.counts = start.counts.plus(spec.counts) if start.counts is not None else spec.counts
        last = start.engine_lines[-1] if start.engine_lines else None
        if last is not None and last.spec is None:
            last.spec = spec

    def _prove_spec(self, spec: SpecLine, message: str, number: int, raw: str) -> None:
        older = "metrics: Draft acceptance rate" in message
        words = "SpecDecoding metrics: " + ("Draft acceptance rate" if older else "Mean acceptance length")
        self._prove("order", _OLDER_ORDER if older else _NEWER_ORDER, words, number, raw)
        if spec.bonus_left_out and spec.counts is not None and spec.counts.accepted > 0:
            self._prove("bonus", _NO_BONUS, "Mean acceptance length", number, raw)

    def _prove(self, name: str, span: VersionRange, words: str, number: int, raw: str) -> None:
        if name not in self.start.proofs:
            source = Source(where=self._where, line=number, quote=quote_from(raw, words))
            self.start.proofs[name] = (span, source)

    def _take_other(self, number: int, raw: str) -> None:
        if any(words in raw for words in _NEW_START) and self._begins(raw):
            self.start = _Start()
        start = self.start
        start.lines_seen += 1
        line = split_line(raw)
        at = self._clock.seconds(line.stamp) if line.stamp else None
        if _ASKED in line.message and start.startup.asked is None:
            start.startup.asked = parse_asked(line.message)
            start.startup.asked_line = number
        dull = (line.source, line.level)
        if self._dull[dull] >= _DULL:
            start.startup.last_at = at if at is not None else start.startup.last_at
            return
        used = start.startup.take(line, number=number, at=at)
        if READY in line.message and start.ready_line is None:
            start.ready_line = number
            start.startup.ready_at = start.startup.last_at
        if start.shutdown_line is None and any(words in raw for words in _SHUTDOWN):
            start.shutdown_line = number
        if start.shutdown_line is None:
            if is_suspect(raw):
                start.suspects.append(number)
            used = self._take_notice(number, raw, line.message[:_MAX_MESSAGE]) or used
        if not used and line.source and line.level in ("INFO", "DEBUG"):
            self._dull[dull] += 1

    def _begins(self, raw: str) -> bool:
        """Whether a line that opens a start opens a new one: something of an older one has been seen."""
        start = self.start
        if start.ready_line is not None or start.shutdown_line is not None or start.engine_lines:
            return "Dumping input data" not in raw
        return _ASKED in raw and start.startup.asked is not None

    def _take_notice(self, number: int, raw: str, message: str) -> bool:
        found = find_row(message)
        if found is None:
            return False
        row, match = found
        self.start.kinds[row.kind] += 1
        if self.start.kinds[row.kind] <= MAX_PER_KIND:
            text = quote_from(raw, match[0])
            self.start.notices.append(Notice(line=number, kind=row.kind, text=text, benign=row.benign))
        return True


def _last_lines(lines: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for raw in reversed(lines):
        if raw.strip():
            kept.append(redact(raw.rstrip("\r")[:2000])[:300])
        if len(kept) == _LAST_LINES:
            break
    return tuple(reversed(kept))


def read_log(text: str, *, where: str, argv: tuple[str, ...] = ()) -> LogReading:
    """Read a log of any version. `argv` is not needed: the log itself names what was asked for."""
    del argv
    lines = text.split("\n")
    reader = _LogReader(lines, where)
    reader.run()
    start = reader.start
    span = ANY
    for proved, _ in start.proofs.values():
        span = span.intersect(proved)
    sources = tuple(source for _, source in start.proofs.values())
    init = start.startup.init
    version, version_line = start.startup.version, start.startup.version_line
    source = None
    if version is not None and version_line is not None:
        source = Source(where=where, line=version_line, quote=quote_from(lines[version_line - 1], version))
    served = start.ready_line is not None or bool(start.engine_lines)
    decode = windows(start.engine_lines, shutdown=start.shutdown_line)
    return LogReading(
        where=where,
        lines=len(lines) - (1 if lines and not lines[-1] else 0),
        version=version,
        version_source=source,
        version_range=str(span) if not span.is_open and not span.is_empty else None,
        version_proofs=(*((source,) if source else ()), *sources),
        server_args=init.values if init is not None else None,
        server_args_line=start.startup.init_line,
        asked_args=start.startup.asked,
        asked_args_line=start.startup.asked_line,
        notices=tuple(start.notices),
        decode=decode,
        counts=start.counts,
        graphs=start.startup.graphs(),
        weight_classes=tuple(start.startup.architectures),
        start=start.startup.times(),
        ready_line=start.ready_line,
        shutdown_line=start.shutdown_line,
        failure=find_failure(Suspects(lines=lines, numbers=start.suspects, ready=served)),
        last_lines=_last_lines(lines),
    )
