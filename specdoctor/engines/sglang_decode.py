"""Decode lines: what they print, what their rate means, and the figures a whole log gives.

A line covers the decode steps since the line before. `accept len` counts the bonus token in every version. `accept
rate` counts it up to 0.5.10 (length / draft tokens) and leaves it out from 0.5.11 ((length - 1) / (draft tokens - 1)).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from specdoctor.core.estimate import Estimate
from specdoctor.core.server import DecodeWindow, LogReading
from specdoctor.engines.printed_number import finite

# The common order of the fields, for speed; anything else is read field by field.
_USUAL = re.compile(
    r"Decode batch[.,] #running-req: (\d{1,9}), #token: (\d{1,12}), token usage: [\d.]+, "
    r"(?:accept len: (\d{1,6}\.\d{1,6}), )?(?:accept rate: (\d{1,6}\.\d{1,6}), )?(?:\w+ graph: (True|False), )?"
    r"gen throughput \(token/s\): (\d{1,12}\.\d{1,6}), #queue-req: (\d{1,9})\b"
)
RateMeaning = Literal["strict", "with-bonus"]
_Z95 = 1.959964
_MAX_DRAFT_TOKENS = 128
_ENOUGH = 0.95
_SAMPLE = 400
_MIN_BATCHES = 10
_MAX_BATCHES = 30


@dataclass(slots=True)
class DecodeLine:
    """One Decode line as printed. `interrupted`: its interval holds prefill, a pause, or the end of a batch."""

    line: int
    at: float | None
    rank: str
    running: int
    queue: int
    tokens: int | None
    accept_length: float | None
    accept_rate: float | None
    graph: bool | None
    throughput_tok_s: float
    interrupted: bool = False


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 16 else None


def parse_decode(message: str, *, line: int, at: float | None, rank: str) -> DecodeLine | None:
    """A Decode line of any version, fields in any order; None if it has not the fields that all versions print."""
    usual = _USUAL.match(message)
    if usual is None:
        return _parse_fields(message, line=line, at=at, rank=rank)
    running, tokens, length, rate, graph, throughput, queue = usual.groups()
    return DecodeLine(
        line=line,
        at=at,
        rank=rank,
        running=int(running),
        queue=int(queue),
        tokens=int(tokens),
        accept_length=None if length is None else float(length),
        accept_rate=None if rate is None else float(rate),
        graph=None if graph is None else graph == "True",
        throughput_tok_s=float(throughput),
    )


def _parse_fields(message: str, *, line: int, at: float | None, rank: str) -> DecodeLine | None:
    fields: dict[str, str] = {}
    for part in message.replace("Decode batch. ", "Decode batch, ", 1).rstrip().split(", "):
        name, separator, value = part.partition(": ")
        if separator:
            fields[name] = value.rstrip(",")
    running = _count(fields.get("#running-req"))
    throughput = finite(fields.get("gen throughput (token/s)"))
    if running is None or throughput is None or throughput < 0:
        return None
    graph = next((value for name, value in fields.items() if name.endswith(" graph")), None)
    return DecodeLine(
        line=line,
        at=at,
        rank=rank,
        running=running,
        queue=_count(fields.get("#queue-req")) or 0,
        tokens=_count(fields.get("#token", fields.get("#full token"))),
        accept_length=finite(fields.get("accept len")),
        accept_rate=finite(fields.get("accept rate")),
        graph=None if graph is None else graph == "True",
        throughput_tok_s=throughput,
    )


def _fits(length: float, rate: float, tokens: int, meaning: RateMeaning) -> bool:
    """Whether a printed pair (two decimals each) can come from this formula."""
    if meaning == "strict":
        return abs((length - 1) / (tokens - 1) - rate) <= 0.0052 + 0.005 / (tokens - 1)
    return abs(length / tokens - rate) <= 0.0052 + 0.005 / tokens


def _share(pairs: Sequence[tuple[float, float]], tokens: int, meaning: RateMeaning) -> float:
    return sum(_fits(length, rate, tokens, meaning) for length, rate in pairs) / len(pairs)


def rate_meaning(lines: Sequence[DecodeLine], draft_tokens: int | None) -> RateMeaning | None:
    """What `accept rate` means in this log, from the lines' own arithmetic; None where both or neither fit.

    Without `draft_tokens` every number of them is tried, and only a formula that fits with some number counts.
    """
    pairs = [
        (line.accept_length, line.accept_rate)
        for line in lines[:_SAMPLE]
        if line.accept_length is not None and line.accept_rate is not None and line.accept_length >= 1
    ]
    if not pairs:
        return None
    known = draft_tokens is not None and draft_tokens > 1
    candidates = [draft_tokens] if known and draft_tokens else list(range(2, _MAX_DRAFT_TOKENS + 1))
    strict = max(_share(pairs, n, "strict") for n in candidates)
    bonus = max(_share(pairs, n, "with-bonus") for n in candidates)
    if strict >= _ENOUGH > bonus:
        return "strict"
    if bonus >= _ENOUGH > strict:
        return "with-bonus"
    return None


def strict_rate(line: DecodeLine, draft_tokens: int | None, meaning: RateMeaning | None) -> float | None:
    """Accepted drafts / drafted tokens, bonus left out; from the length where the draft tokens are known."""
    if line.accept_length is not None and draft_tokens is not None and draft_tokens > 1:
        return max(0.0, (line.accept_length - 1) / (draft_tokens - 1))
    if meaning == "strict":
        return line.accept_rate
    return None


def windows(
    lines: Iterable[DecodeLine], *, draft_tokens: int | None, meaning: RateMeaning | None, shutdown: int | None
) -> tuple[DecodeWindow, ...]:
    """Decode lines as windows. Clean: not the first of its rank, no prefill or pause inside, a living batch."""
    seen: set[str] = set()
    out: list[DecodeWindow] = []
    for item in lines:
        first = item.rank not in seen
        seen.add(item.rank)
        late = shutdown is not None and item.line > shutdown
        clean = not (first or item.interrupted or item.tokens == 0 or item.running == 0 or late)
        out.append(
            DecodeWindow(
                line=item.line,
                at=item.at,
                rank=item.rank,
                running=item.running,
                queue=item.queue,
                tokens=item.tokens,
                accept_length=item.accept_length,
                accept_rate=item.accept_rate,
                strict_rate=strict_rate(item, draft_tokens, meaning),
                graph=item.graph,
                throughput_tok_s=item.throughput_tok_s,
                clean=clean,
            )
        )
    return tuple(out)


def log_accept_length(reading: LogReading) -> Estimate | None:
    """Accept length over a whole log: mean of the lines with living requests, weighted by running requests.

    Interval: standard error over batches of consecutive lines (95 %), since neighbouring lines share requests.
    None without speculation or without a usable line.
    """
    used = [
        (w.accept_length, float(w.running))
        for w in reading.decode
        if w.accept_length is not None and w.accept_length >= 1 and w.tokens != 0 and w.running > 0
    ]
    if not used:
        return None
    mean = _weighted(used)
    half = _half_width(used, mean)
    return Estimate(
        value=mean,
        low=min(mean, max(1.0, mean - half)),
        high=mean + half,
        unit="tokens/cycle",
        estimator="decode log lines weighted by running requests, bonus token included",
        n=len(used),
    )


def log_step_ms(reading: LogReading, *, running: int | None = None) -> Estimate | None:
    """Time of one target forward, from clean lines: running * accept length / throughput (accept length 1 without
    speculation). Median with a distribution-free 95 % interval. `running` keeps the lines with that batch size only.
    """
    steps = sorted(
        1000.0 * w.running * (w.accept_length or 1.0) / w.throughput_tok_s
        for w in reading.decode
        if w.clean and w.throughput_tok_s > 0 and (running is None or w.running == running)
    )
    if not steps:
        return None
    low, high = _median_ranks(len(steps))
    middle = (steps[(len(steps) - 1) // 2] + steps[len(steps) // 2]) / 2
    return Estimate(
        value=middle,
        low=steps[low],
        high=steps[high],
        unit="ms",
        estimator="median over clean decode log lines of running requests * accept length / throughput",
        n=len(steps),
    )


def _weighted(values: Sequence[tuple[float, float]]) -> float:
    return sum(value * weight for value, weight in values) / sum(weight for _, weight in values)


def _half_width(values: Sequence[tuple[float, float]], mean: float) -> float:
    """Half of the 95 % interval: over batch means with enough lines, over single lines with few."""
    if len(values) < 2:
        return 0.0
    count = min(_MAX_BATCHES, len(values) // 4) if len(values) >= 4 * _MIN_BATCHES else len(values)
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    batches = [values[a:b] for a, b in pairwise(edges) if b > a]
    total = sum(weight for _, weight in values)
    squares = sum((sum(w for _, w in batch) * (_weighted(batch) - mean)) ** 2 for batch in batches)
    return _Z95 * math.sqrt(squares * len(batches) / max(1, len(batches) - 1)) / total


def _median_ranks(n: int) -> tuple[int, int]:
    """Ranks (from 0) that bound the median with about 95 % confidence, whatever the distribution."""
    reach = _Z95 * math.sqrt(n) / 2
    low = max(0, math.floor(n / 2 - reach))
    return low, min(n - 1, n - 1 - low)
