"""Periodic lines of vLLM: what they print, and how many drafts an interval held.

An `Engine` line gives speed and load of the interval since the line before, the line after it what speculation did.
`Mean acceptance length` is a mean over drafts. It counts the bonus token from 0.9.0 on and leaves it out in 0.8.5;
which of the two a line does is read from its own positions, whose rates add up to the length without the bonus token.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.server import DecodeWindow
from specdoctor.engines.printed_number import finite

ENGINE_MARK = "Avg generation throughput"
SPEC_MARK = "SpecDecoding metrics"
OLD_SPEC_MARK = "Speculative metrics"
_ENGINE = re.compile(
    r"(?:Engine (?P<rank>\d{1,6}): )?Avg prompt throughput: (?P<prompt>[\d.]{1,16}) tokens/s, "
    r"Avg generation throughput: (?P<gen>[\d.]{1,16}) tokens/s, Running: (?P<run>\d{1,9}) reqs, "
    r"(?:Swapped: \d+ reqs, Pending: (?P<pending>\d{1,9}) reqs|Waiting: (?P<wait>\d{1,9}) reqs)"
)
_KV = re.compile(r"(?:[GC]PU )?KV cache usage: (?P<kv>[\d.]{1,12})%")
_PREEMPTIONS = re.compile(r"Preemptions: (?P<n>\d{1,9})")
_RATE = r"[\d.]{1,12}|nan"
_SPEC = re.compile(
    rf"SpecDecoding metrics: (?:Draft acceptance rate: (?P<old>{_RATE})%, )?Mean acceptance length: (?P<mal>{_RATE}), "
    rf"(?:Accepted throughput: [\d.]+ tokens/s, Drafted throughput: [\d.]+ tokens/s, )?"
    rf"Accepted: (?P<acc>\d{{1,15}}) tokens, Drafted: (?P<dr>\d{{1,15}}) tokens, "
    rf"Per-position acceptance rate: (?P<pos>(?:(?:{_RATE})(?:, )?)*)(?:, )?"
    rf"(?:Avg Draft acceptance rate: (?P<new>{_RATE})%)?"
)
_OLD_SPEC = re.compile(
    r"Speculative metrics: Draft acceptance rate: (?P<rate>[\d.]{1,12}), System efficiency: [\d.]+, "
    r"Number of speculative tokens: (?P<k>\d{1,6}), Number of accepted tokens: (?P<acc>\d{1,15}), "
    r"Number of draft tokens: (?P<dr>\d{1,15}), Number of emitted tokens: (?P<em>\d{1,15})"
)
_MOST_TRIES = 400


@dataclass(slots=True)
class EngineLine:
    """One interval of one engine as printed. `spec` is what the line after it says, None without one."""

    line: int
    at: float | None
    rank: str
    running: int
    queue: int
    prompt_tok_s: float
    throughput_tok_s: float
    kv_usage: float | None
    preemptions: int | None
    spec: SpecLine | None = None


@dataclass(slots=True)
class SpecLine:
    """What speculation did in an interval. `length` has the bonus token; `rate` is as printed, as a fraction."""

    line: int
    length: float | None
    rate: float | None
    counts: DraftCounts | None
    bonus_left_out: bool = False


def parse_engine(message: str, *, line: int, at: float | None) -> EngineLine | None:
    """An `Engine` line of any version, the older one without its number included."""
    match = _ENGINE.search(message)
    if match is None:
        return None
    prompt, generated = finite(match["prompt"]), finite(match["gen"])
    if prompt is None or generated is None:
        return None
    kv = _KV.search(message, match.end())
    usage = finite(kv["kv"]) if kv is not None else None
    preempted = _PREEMPTIONS.search(message, match.end())
    return EngineLine(
        line=line,
        at=at,
        rank=match["rank"] or "",
        running=int(match["run"]),
        queue=int(match["wait"] or match["pending"]),
        prompt_tok_s=prompt,
        throughput_tok_s=generated,
        kv_usage=usage / 100 if usage is not None else None,
        preemptions=int(preempted["n"]) if preempted is not None else None,
    )


def parse_spec(message: str, *, line: int) -> SpecLine | None:
    """A `SpecDecoding metrics` line of the V1 engine, both orders of its fields."""
    match = _SPEC.search(message)
    if match is None:
        return None
    accepted, drafted = int(match["acc"]), int(match["dr"])
    rates = [value if (value := finite(part)) is not None else 0.0 for part in match["pos"].split(", ") if part]
    percent = finite(match["new"] or match["old"])
    printed = finite(match["mal"])
    without_bonus = printed is not None and _leaves_bonus_out(printed, rates)
    length = printed + 1.0 if printed is not None and without_bonus else printed
    counts = _counts(accepted, drafted, rates, length)
    return SpecLine(line, length, percent / 100 if percent is not None else None, counts, without_bonus)


def _leaves_bonus_out(printed: float, rates: list[float]) -> bool:
    """Whether the printed length is the sum of the positions rather than one more (two decimals against three)."""
    total = sum(rates)
    return bool(rates) and abs(printed - total) < abs(printed - 1.0 - total)


def _counts(accepted: int, drafted: int, rates: list[float], length: float | None) -> DraftCounts | None:
    drafts = _drafts(accepted, drafted, rates, length)
    if drafts is None:
        return None
    return DraftCounts(
        drafts=drafts, drafted=drafted, accepted=accepted, by_position=tuple(float(round(r * drafts)) for r in rates)
    )


def _drafts(accepted: int, drafted: int, rates: list[float], length: float | None) -> int | None:
    """How many drafts an interval held: it is not printed, but bounded by all that is.

    Every draft full is the usual case; shorter drafts (n-gram, end of the context) are searched within the rounding of
    the printed figures for the number whose positions add up to the accepted tokens.
    """
    k = len(rates)
    if k == 0 or drafted <= 0:
        return None
    full, rest = divmod(drafted, k)
    gained = None if length is None else length - 1.0
    if rest == 0 and (gained is None or abs(accepted / full - gained) <= 0.0051):
        return full
    if gained is None or accepted == 0:
        return max(1, math.ceil(drafted / k))
    low, high = math.ceil(drafted / k), drafted
    total = sum(rates)
    for value, error in ((gained, 0.0051), (total, 0.00051 * k)):
        if value > error:
            low, high = max(low, math.ceil(accepted / (value + error))), min(high, int(accepted / (value - error)))
    middle = min(max(round(accepted / (total or gained)), 1), drafted)
    if low > high:
        return middle
    tried = sorted(range(low, min(high, low + _MOST_TRIES) + 1), key=lambda n: abs(n - middle))
    return next((n for n in tried if sum(round(r * n) for r in rates) == accepted), min(max(middle, low), high))


@dataclass(slots=True)
class OldTotals:
    """Totals that the older engine (V0) prints: since it started, so that two lines give an interval."""

    k: int
    drafted: int
    emitted: int
    rate: float | None

    def since(self, before: OldTotals | None) -> DraftCounts | None:
        """Counts since `before` (None: since the start); drafts all have k tokens, what is emitted counts the bonus."""
        drafted = self.drafted - (before.drafted if before else 0)
        emitted = self.emitted - (before.emitted if before else 0)
        drafts = drafted // self.k if self.k else 0
        if drafts <= 0 or emitted < drafts:
            return None
        return DraftCounts(drafts=drafts, drafted=drafted, accepted=emitted - drafts)


def parse_old_spec(message: str) -> OldTotals | None:
    """A `Speculative metrics` line of the older engine (V0)."""
    match = _OLD_SPEC.search(message)
    if match is None:
        return None
    return OldTotals(int(match["k"]), int(match["dr"]), int(match["em"]), finite(match["rate"]))


def windows(lines: Iterable[EngineLine], *, shutdown: int | None) -> tuple[DecodeWindow, ...]:
    """Engine lines as windows. Clean: requests ran at both ends of the interval and none was preempted in it."""
    before: dict[str, int] = {}
    out: list[DecodeWindow] = []
    for item in lines:
        late = shutdown is not None and item.line > shutdown
        busy = item.running > 0 and before.get(item.rank, 0) > 0 and item.throughput_tok_s > 0
        before[item.rank] = item.running
        spec = item.spec
        out.append(
            DecodeWindow(
                line=item.line,
                at=item.at,
                rank=item.rank,
                running=item.running,
                queue=item.queue,
                tokens=None,
                accept_length=spec.length if spec else None,
                accept_rate=spec.rate if spec else None,
                strict_rate=spec.counts.rate if spec and spec.counts else None,
                graph=None,
                throughput_tok_s=item.throughput_tok_s,
                clean=busy and not late and not item.preemptions,
                counts=spec.counts if spec else None,
                prompt_tok_s=item.prompt_tok_s,
                kv_usage=item.kv_usage,
                preemptions=item.preemptions,
                acceptance_line=spec.line if spec else None,
            )
        )
    return tuple(out)
