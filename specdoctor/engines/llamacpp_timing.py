"""Requests in a llama.cpp log: speed, drafted and accepted tokens of each one that ended, as windows of decoding.

The server prints one block a request; the example programs one for the whole run. How many verification steps carried
a draft is printed as a mean only, so the count is found from it and from what else the block says.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.server import DecodeWindow

_EVAL = re.compile(
    r"(?<!prompt )eval time =\s*(?P<ms>[\d.]{1,15}) ms /\s*(?P<n>\d{1,9}) tokens \("
    r".{0,60}?(?P<tps>[\d.]{1,15}|inf) tokens per second\)"
)
_PROMPT = re.compile(r"prompt eval time =\s*(?P<ms>[\d.]{1,15}) ms /\s*(?P<n>\d{1,9}) tokens")
_ACCEPTANCE = re.compile(
    r"draft acceptance(?: rate)? = [\d.naif-]{1,12} \(\s*(?P<a>\d{1,12}) accepted /\s*(?P<g>\d{1,12}) generated\)"
    r"(?:, mean (?:len|acceptance length) =\s*(?P<m>[\d.]{1,12}))?"
    r"(?:, acceptance rate per position = \((?P<p>[^)]{0,2000})\))?"
)
_PER_POSITION = re.compile(r"acc per pos = \((?P<p>[^)]{0,2000})\)")
STATISTICS = re.compile(
    r"statistics\s{1,30}(?P<t>[\w-]{1,40}): #calls(?:\(b,g,a\))? =\s*[\d\s]{1,60}, #gen drafts =\s*(?P<d>\d{1,12}), "
    r"#acc drafts =\s*\d{1,12}, #gen tokens =\s*(?P<g>\d{1,12}), #acc tokens =\s*(?P<a>\d{1,12})"
)
_SLOT = re.compile(r"id\s{1,4}(?P<slot>-?\d{1,6}) \| task (?P<task>-?\d{1,12}) \|")
_DECODED = re.compile(
    r"decoded\s{1,12}(?P<n>\d{1,9}) tokens in\s{1,12}(?P<s>[\d.]{1,12}) seconds, speed:\s{1,12}(?P<tps>[\d.]{1,12}) t/s"
)
_LONGEST_DRAFT = 65
_EXAMPLE = re.compile(r"^\s*(?P<key>n_draft|n_predict|n_drafted|n_accept)\s{1,6}=\s{0,6}(?P<n>\d{1,9})\s*$")


@dataclass
class _Request:
    """One request under way or ended; `running` bounds how many requests ran beside it, itself included."""

    line: int
    at: float | None = None
    least: int = 1
    most: int = 1
    tokens: int = 0
    eval_ms: float = 0.0
    tok_s: float = 0.0
    drafted: int = 0
    accepted: int = 0
    mean: float | None = None
    rates: tuple[float, ...] = ()
    drafts: int | None = None
    has_drafts: bool = False
    acceptance_line: int | None = None


@dataclass
class TimingReader:
    """Follows the requests of one start; `windows()` gives those that ended."""

    requests: list[_Request] = field(default_factory=list)
    prefills: int = 0
    statistics: dict[str, tuple[int, str]] = field(default_factory=dict)
    _active: dict[str, _Request] = field(default_factory=dict)
    _ended: dict[str, _Request] = field(default_factory=dict)
    _last: dict[str, _Request] = field(default_factory=dict)
    _slot: str = ""
    _totals: dict[str, tuple[int, int]] = field(default_factory=dict)
    _example: dict[str, int] = field(default_factory=dict)

    def take(self, message: str, *, line: int, at: float | None) -> None:
        """Read one line that may belong to a request."""
        slot = _SLOT.search(message)
        if slot is not None:
            self._slot = slot["slot"]
            if "launch_slot_" in message:
                self._launch(line)
                return
            if "stop processing" in message:
                self._release()
                return
        if "eval time" in message:
            self._take_speed(message, line, at)
        elif "draft acceptance" in message:
            self._take_acceptance(message, line)
        elif "acc per pos" in message:
            match = _PER_POSITION.search(message)
            request = self._last.get(self._slot)
            if match is not None and request is not None:
                request.rates = _numbers(match["p"])
        elif "#gen drafts" in message:
            self._take_statistics(message, line)
        else:
            self._take_example(message, line, at)

    def _launch(self, line: int) -> None:
        self._active[self._slot] = _Request(line=line)
        count = len(self._active)
        for request in self._active.values():
            request.most = max(request.most, count)
        self._active[self._slot].least = count

    def _release(self) -> None:
        request = self._active.pop(self._slot, None)
        if request is None:
            return
        self._ended[self._slot] = request
        for other in self._active.values():
            other.least = min(other.least, len(self._active))

    def _take_speed(self, message: str, line: int, at: float | None) -> None:
        if _PROMPT.search(message) is not None:
            self.prefills += 1
            return
        match = _EVAL.search(message)
        if match is None:
            return
        known = self._active.get(self._slot) or self._ended.pop(self._slot, None)
        request = _Request(line=line, at=at)
        if known is not None:
            request.least, request.most = known.least, known.most
        request.tokens = int(match["n"])
        request.eval_ms, request.tok_s = _number(match["ms"]), _number(match["tps"])
        self.requests.append(request)
        self._last[self._slot] = request

    def _take_acceptance(self, message: str, line: int) -> None:
        match = _ACCEPTANCE.search(message)
        request = self._last.get(self._slot)
        if match is None or request is None:
            return
        request.has_drafts, request.acceptance_line = True, line
        request.accepted, request.drafted = int(match["a"]), int(match["g"])
        request.mean = _number(match["m"]) if match["m"] else None
        request.rates = _numbers(match["p"] or "") or request.rates

    def _take_statistics(self, message: str, line: int) -> None:
        """Totals since the start, by way of drafting: those of a request are the difference to the line before."""
        match = STATISTICS.search(message)
        if match is None:
            return
        drafts, tokens = int(match["d"]), int(match["g"])
        before = self._totals.get(match["t"], (0, 0))
        self._totals[match["t"]] = (drafts, tokens)
        self.statistics[match["t"]] = (line, match[0])
        request = self._last.get(self._slot)
        if request is not None and request.has_drafts and tokens - before[1] == request.drafted:
            request.drafts = drafts - before[0]

    def _take_example(self, message: str, line: int, at: float | None) -> None:
        decoded = _DECODED.search(message)
        if decoded is not None:
            request = _Request(line=line, at=at, tokens=int(decoded["n"]), tok_s=_number(decoded["tps"]))
            request.eval_ms = 1000.0 * _number(decoded["s"])
            self.requests.append(request)
            self._last[""] = request
            self._slot = ""
            return
        match = _EXAMPLE.search(message)
        request_now = self._last.get("")
        if match is None or request_now is None:
            return
        self._example[match["key"]] = int(match["n"])
        request_now.drafted = self._example.get("n_drafted", 0)
        request_now.accepted = self._example.get("n_accept", 0)
        request_now.has_drafts = request_now.drafted > 0
        request_now.acceptance_line = line

    def windows(self) -> tuple[DecodeWindow, ...]:
        """One window for each request that ended, of more than one token."""
        return tuple(_window(request) for request in self.requests if request.tokens > 1)

    def counts(self) -> DraftCounts | None:
        """Drafted and accepted tokens of all requests that ended together; None where nothing was drafted."""
        found = [_counts(request) for request in self.requests if request.has_drafts]
        total: DraftCounts | None = None
        for counts in found:
            total = counts if total is None else total.plus(counts)
        return total


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_number(part.strip()) for part in text.split(",") if part.strip())


def _drafts(request: _Request) -> int | None:
    """Verification steps with a draft: counted, else the number that the printed mean allows; None without either.

    The mean has two decimals, so the steps that the request had at all are taken where they print the same mean.
    """
    if request.drafts is not None:
        return request.drafts
    if request.mean is None:
        return None
    steps = request.tokens - request.accepted - 1
    if request.accepted == 0:
        return steps - _ended_by_limit(steps, request.drafted) if steps > 0 else None
    if request.mean <= 1.0:
        return None
    if steps > 0 and abs(1.0 + request.accepted / steps - request.mean) <= 0.00501:
        return steps
    return max(1, round(request.accepted / (request.mean - 1.0)))


def _ended_by_limit(steps: int, drafted: int) -> int:
    """1 where the limit of tokens cut the last drafts short: then the very last step had none.

    Drafts of n tokens, of which nothing is accepted, make n * (steps - n) + n * (n - 1) / 2 tokens up to a limit.
    """
    return int(any(n * (steps - n) + n * (n - 1) // 2 == drafted for n in range(1, min(steps, _LONGEST_DRAFT))))


def _counts(request: _Request) -> DraftCounts:
    drafts = _drafts(request)
    by_position = tuple(rate * drafts for rate in request.rates) if drafts else ()
    return DraftCounts(drafts=drafts, drafted=request.drafted, accepted=request.accepted, by_position=by_position)


def _window(request: _Request) -> DecodeWindow:
    """The whole of one request. Its own speed times the requests beside it is that of all, where they stayed as many.

    Without a printed mean, the accept length is tokens / (tokens - accepted), over all steps, drafted or not.
    """
    counts = _counts(request) if request.has_drafts else None
    length: float | None = None
    if counts is not None:
        length = counts.accept_length
        if length is None and request.tokens > request.accepted:
            length = request.tokens / (request.tokens - request.accepted)
    return DecodeWindow(
        line=request.line,
        at=request.at,
        rank="",
        running=request.most,
        queue=0,
        tokens=request.tokens,
        accept_length=length,
        accept_rate=counts.rate if counts is not None else None,
        strict_rate=counts.rate if counts is not None else None,
        graph=None,
        throughput_tok_s=request.tok_s * request.most,
        clean=request.least == request.most and request.tok_s > 0,
        counts=counts,
        acceptance_line=request.acceptance_line,
    )
