"""Read a whole server log, of any version, in one pass.

A file may hold several starts, one after the other; what is returned tells of the last one. Line numbers count newline
bytes from 1; carriage returns inside a line (progress bars) do not count.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from specdoctor.core.redact import redact
from specdoctor.core.server import LogReading, Notice, Source
from specdoctor.engines.log_carriers import quote_from
from specdoctor.engines.sglang_args import read_launch
from specdoctor.engines.sglang_decode import DecodeLine, parse_decode, rate_meaning, windows
from specdoctor.engines.sglang_effect import predict
from specdoctor.engines.sglang_failure import find_failure, is_suspect
from specdoctor.engines.sglang_notices import MAX_PER_KIND, find_notice
from specdoctor.engines.sglang_prefix import after_bars, split_line
from specdoctor.engines.sglang_proofs import (
    ARGUMENT_SPANS,
    DECODE_WORDINGS,
    LINE_WORDINGS,
    PREFILL_WORDINGS,
    RATE_STRICT,
    RATE_WITH_BONUS,
    Proof,
    Wording,
    narrow,
)
from specdoctor.engines.sglang_series import whole_log
from specdoctor.engines.sglang_server_args import ServerArgs, parse_server_args
from specdoctor.engines.sglang_startup import STARTUP_WORDS, StartupReading
from specdoctor.engines.stamp_clock import StampClock
from specdoctor.engines.suspects import Suspects
from specdoctor.engines.versions import ANY

READY = "The server is fired up and ready to roll!"
SIGTERM = "SIGTERM received"
_NEW_START = ("server_args=ServerArgs(", "server_args={", "launch_server' is still supported")
_PAUSES = ("rofiling", "Retract requests", "Cache flushed", "Decode out of memory")
_ACCESS = ' HTTP/1.1" '
_MAX_DECODE_LINES = 200_000
_LAST_LINES = 20
_PROOF_LINES = 5
_MAX_MESSAGE = 4000


@dataclass
class _Start:
    """What is gathered of one start; replaced when the next one begins."""

    startup: StartupReading = field(default_factory=StartupReading)
    decode: deque[DecodeLine] = field(default_factory=lambda: deque(maxlen=_MAX_DECODE_LINES))
    notices: list[Notice] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    proofs: dict[str, Proof] = field(default_factory=dict)
    suspects: list[int] = field(default_factory=list)
    server_args: ServerArgs | None = None
    server_args_line: int | None = None
    prefills: int = 0
    decode_proofs: int = 0
    prefill_proofs: int = 0
    ready_line: int | None = None
    shutdown_line: int | None = None
    interruptions: int = 0
    seen_interruptions: dict[str, int] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    busy: bool = False


def _is_message(raw: str, words: str) -> bool:
    """Whether `words` open the message of a line, and are not merely quoted in it (a logged prompt)."""
    at = raw.find(words)
    return at == 0 or (at > 0 and (raw[at - 1] in "]" or raw[max(0, at - 2) : at] in ("] ", "| ", ": ", ") ", "m ")))


class _LogReader:
    """State of the pass over one log."""

    def __init__(self, lines: Sequence[str], where: str, *, skipped: int = 0) -> None:
        self._lines = lines
        self._skipped = skipped
        self._where = where
        self._clock = StampClock()
        self.start = _Start()

    def run(self) -> None:
        for number, raw in enumerate(self._lines, start=1):
            if "Decode batch" in raw and _is_message(raw, "Decode batch"):
                self._take_decode(number, raw)
            elif "Prefill batch" in raw and _is_message(raw, "Prefill batch"):
                self._take_prefill(number, raw)
            elif raw and not raw.isspace():
                self._take_other(number, raw)

    def _take_decode(self, number: int, raw: str) -> None:
        start = self.start
        if self._skipped > 0:  # newer ones fill all the room there is
            self._skipped -= 1
            if start.decode_proofs >= _PROOF_LINES:
                start.busy = True
                return
        line = split_line(raw)
        item = parse_decode(line.message, line=number, at=self._clock.seconds(line.stamp), rank=line.rank)
        if item is None:
            return
        start.busy = True
        disturbed = start.seen_interruptions.get(line.rank, 0) != start.interruptions
        item.interrupted = disturbed or line.rank in start.ended
        start.seen_interruptions[line.rank] = start.interruptions
        start.ended.discard(line.rank)
        if item.tokens == 0:
            start.ended.add(line.rank)
        start.decode.append(item)
        if start.decode_proofs < _PROOF_LINES:
            start.decode_proofs += 1
            self._prove(DECODE_WORDINGS, line.message, number, raw)

    def _take_prefill(self, number: int, raw: str) -> None:
        start = self.start
        start.busy = True
        start.prefills += 1
        start.interruptions += 1
        if start.prefill_proofs < _PROOF_LINES:
            start.prefill_proofs += 1
            self._prove(PREFILL_WORDINGS, split_line(raw).message, number, raw)

    def _take_other(self, number: int, raw: str) -> None:
        if any(word in raw for word in _NEW_START) and (self.start.busy or self.start.shutdown_line is not None):
            self.start = _Start()
        start = self.start
        access = _ACCESS in raw
        if access and "/server_info" not in raw:
            return
        line = split_line(after_bars(raw))
        whole, line.message = line.message, line.message[:_MAX_MESSAGE]
        at = self._clock.seconds(line.stamp) if line.stamp else None
        if start.startup.first_at is None:
            start.startup.first_at = at
        self._prove(LINE_WORDINGS, line.message, number, raw)
        if access:
            return
        self._take_milestones(number, raw, whole, at)
        if any(word in line.message for word in STARTUP_WORDS):
            start.startup.take(line.message, line=number, at=at, rank=line.rank)
        if any(word in raw for word in _PAUSES):
            start.interruptions += 1
        if start.shutdown_line is None and is_suspect(raw):
            start.suspects.append(number)
        self._take_notice(number, raw, line.message)

    def _take_milestones(self, number: int, raw: str, message: str, at: float | None) -> None:
        start = self.start
        if "server_args=" in message and start.server_args is None:
            start.server_args = parse_server_args(message)
            if start.server_args is not None:
                start.server_args_line = number
                self._prove_arguments(start.server_args, number)
        elif READY in message:
            start.ready_line = number
            start.startup.ready_at = at
            start.busy = True
        elif SIGTERM in message and start.shutdown_line is None:
            start.shutdown_line = number
        elif "Scheduler hit an exception" in raw or "include_parent=True" in raw:
            start.busy = True

    def _take_notice(self, number: int, raw: str, message: str) -> None:
        row = find_notice(message)
        if row is None or self.start.shutdown_line is not None:
            return
        self.start.kinds[row.kind] += 1
        if self.start.kinds[row.kind] <= MAX_PER_KIND:
            text = quote_from(raw, message)
            self.start.notices.append(Notice(line=number, kind=row.kind, text=text, benign=row.benign))

    def _prove(self, wordings: Sequence[Wording], message: str, number: int, raw: str) -> None:
        proofs = self.start.proofs
        for wording in wordings:
            if wording.literal not in message or wording.id in proofs:
                continue
            match = wording.pattern.search(message)
            if match is not None:
                quote = quote_from(raw, match[0] if len(match[0]) > len(wording.literal) else wording.literal)
                source = Source(where=self._where, line=number, quote=quote)
                proofs[wording.id] = Proof(wording.id, source, wording.span)

    def _prove_arguments(self, arguments: ServerArgs, number: int) -> None:
        raw = self._lines[number - 1]
        for key, span in ARGUMENT_SPANS.items():
            if key in arguments.values:
                quote = next((q for q in (f"{key}=", f"'{key}': ") if q in raw), key)
                source = Source(where=self._where, line=number, key=key, quote=quote)
                self.start.proofs[key] = Proof(key, source, span)


def _draft_tokens(start: _Start, argv: tuple[str, ...]) -> int | None:
    """Draft tokens in force, from the arguments in the log, the capture line or the launch line."""
    if start.server_args is not None:
        value = start.server_args.values.get("speculative_num_draft_tokens")
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    target = start.startup.graphs.get("target")
    if target is not None and target.tokens_per_request is not None and target.tokens_per_request > 1:
        return target.tokens_per_request
    setting = predict(read_launch(argv).values, architecture=None, versions=ANY) if argv else None
    return setting.draft_tokens if setting is not None and setting.on else None


def _rate_proof(start: _Start, where: str, lines: Sequence[str], meaning: str | None) -> Proof | None:
    item = next((d for d in start.decode if d.accept_rate is not None and d.accept_length is not None), None)
    if item is None or meaning is None:
        return None
    raw = lines[item.line - 1]
    match = re.search(r"accept len: [\d.]+, accept rate: [\d.]+", raw)
    span = RATE_STRICT if meaning == "strict" else RATE_WITH_BONUS
    source = Source(where=where, line=item.line, key=f"accept rate {meaning}", quote=match[0] if match else "")
    return Proof(f"rate-{meaning}", source, span)


def _last_lines(lines: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for raw in reversed(lines):
        text = raw.rsplit("\r", 1)[-1] if raw.rstrip("\r") else ""
        if text.strip():
            kept.append(redact(text[:2000])[:300])
        if len(kept) == _LAST_LINES:
            break
    return tuple(reversed(kept))


def read_log(text: str, *, where: str, argv: tuple[str, ...] = ()) -> LogReading:
    """Read a log of any version. `argv`, where known, is the launch line that the log belongs to."""
    lines = text.split("\n")
    excess = text.count("Decode batch") - _MAX_DECODE_LINES
    reader = _LogReader(lines, where, skipped=excess)
    reader.run()
    start = reader.start
    tokens = _draft_tokens(start, argv)
    decode = list(start.decode)
    meaning = rate_meaning(decode, tokens)
    rate = _rate_proof(start, where, lines, meaning)
    span, proofs = narrow([*start.proofs.values(), *([rate] if rate else [])])
    notices = list(start.notices)
    if span is None and proofs and proofs[0].source.line is not None:
        first = proofs[0].source
        notices.append(Notice(line=first.line or 1, kind="version-conflict", text=first.quote))
    failure = find_failure(
        Suspects(lines=lines, numbers=start.suspects, ready=start.ready_line is not None or bool(decode))
    )
    return LogReading(
        where=where,
        lines=len(lines) - (1 if lines and not lines[-1] else 0),
        version_range=str(span) if span is not None and not span.is_open else None,
        version_proofs=tuple(proof.source for proof in proofs),
        server_args=start.server_args.values if start.server_args else None,
        server_args_line=start.server_args_line,
        notices=tuple(notices),
        decode=windows(decode, draft_tokens=tokens, meaning=meaning, shutdown=start.shutdown_line),
        whole=whole_log(text.encode("utf-8", "replace")) if excess > 0 else None,
        prefills=start.prefills,
        graphs=tuple(start.startup.graphs.values()),
        weight_classes=tuple(start.startup.weight_classes),
        start=start.startup.times(),
        ready_line=start.ready_line,
        shutdown_line=start.shutdown_line,
        failure=failure,
        last_lines=_last_lines(lines),
    )
