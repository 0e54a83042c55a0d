"""Figures of a load beyond the usual ones: the steady part, what a token takes, and gaps between chunks."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from specdoctor.analysis.interval import Estimate, between, exact
from specdoctor.core.measurement import BenchPlan, RequestRecord
from specdoctor.core.model import Frozen

LEAST_SHARE = 0.25


class LoadFigures(Frozen):
    """`steady` (tok/s): all requests together while all clients were busy. `token_ms`: time per output token after the
    first chunk, by the server's count. `gap_p50_ms`, `gap_p99_ms`: between chunks, each of which may hold several
    tokens (`tokens_per_chunk`). `by_category`: accept length, or None, by prompt category.
    """

    steady: Estimate | None = None
    token_ms: Estimate | None = None
    gap_p50_ms: float | None = None
    gap_p99_ms: float | None = None
    tokens_per_chunk: float | None = None
    output_tokens: float | None = None
    by_category: dict[str, float | None] = {}


def load_figures(good: Sequence[RequestRecord], plan: BenchPlan) -> LoadFigures:
    """Figures of the requests that ended well and could be timed."""
    gaps = [(r.gap_p50_ms, r.gap_p99_ms) for r in good if r.gap_p50_ms is not None and r.gap_p99_ms is not None]
    later = [(r.completion_tokens or 0) - (r.tokens_first_chunk or 1) for r in good]
    chunks = sum(r.chunks - 1 for r in good)
    return LoadFigures(
        steady=steady_throughput(good, plan),
        token_ms=_token_ms(good),
        gap_p50_ms=statistics.median(p50 for p50, _ in gaps) if gaps else None,
        gap_p99_ms=max(p99 for _, p99 in gaps) if gaps else None,
        tokens_per_chunk=sum(later) / chunks if chunks > 0 else None,
        output_tokens=statistics.fmean(r.completion_tokens or 0 for r in good) if good else None,
        by_category={name: _pooled(good, name) for name in sorted({r.category for r in good})},
    )


def _pooled(good: Sequence[RequestRecord], category: str) -> float | None:
    counted = [r for r in good if r.category == category and r.verify_ct and r.correct_drafts is not None]
    steps = sum(r.verify_ct or 0 for r in counted)
    return 1.0 + sum(r.correct_drafts or 0 for r in counted) / steps if steps else None


def _token_ms(good: Sequence[RequestRecord]) -> Estimate | None:
    """Median over requests with quartiles; a chunk of several tokens makes no difference to it."""
    times = []
    for r in good:
        tokens = (r.completion_tokens or 0) - (r.tokens_first_chunk or 1)
        if tokens > 0 and r.t_first is not None and r.t_last is not None:
            times.append(1000.0 * (r.t_last - r.t_first) / tokens)
    if len(times) < 2:
        return None
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return between(middle, low, high, "ms", estimator="median time per token after the first chunk", n=len(times))


def steady_throughput(good: Sequence[RequestRecord], plan: BenchPlan) -> Estimate | None:
    """Tokens of all requests per second while every client was busy: from the first token of the slowest first request
    to the sending of the last one. Tokens are spread evenly between the first and the last chunk of a request.

    None in an open loop, for one client, and where that part is less than a quarter of the whole.
    """
    if plan.rate_per_s is not None or plan.concurrency < 2 or len(good) <= plan.concurrency:
        return None
    ordered = sorted(good, key=lambda r: r.t_send)
    begin = max(r.t_first or 0.0 for r in ordered[: plan.concurrency])
    end = ordered[-1].t_send
    whole = max(r.t_last or 0.0 for r in ordered) - ordered[0].t_send
    if end - begin < LEAST_SHARE * whole or end <= begin:
        return None
    total = sum(_tokens_within(r, begin, end) for r in ordered)
    estimator = f"tokens of all requests while all {plan.concurrency} clients were busy ({(end - begin) / whole:.0%})"
    return exact(total / (end - begin), "tok/s", estimator=estimator).model_copy(update={"n": len(ordered)})


def _tokens_within(r: RequestRecord, begin: float, end: float) -> float:
    first, last = r.t_first or 0.0, r.t_last or 0.0
    at_once = float(r.tokens_first_chunk or 1)
    found = at_once if begin <= first < end else 0.0
    share = max(0.0, min(end, last) - max(begin, first)) / (last - first) if last > first else 0.0
    return found + share * ((r.completion_tokens or 0) - at_once)
