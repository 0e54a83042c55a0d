"""From raw request records to a measurement: every figure with interval, estimator and sample size."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from specdoctor.analysis.interval import Estimate, Unit, between, exact, from_error
from specdoctor.analysis.pooling import RequestCounts, pooled_accept_length, pooled_conditional
from specdoctor.analysis.stats import bootstrap_ratio
from specdoctor.app.bench_counters import acceptance
from specdoctor.app.bench_flags import failures, flags
from specdoctor.app.prompts import IN_TEMPLATE
from specdoctor.core.measurement import BenchPlan, BenchRecord, Measurement, RequestRecord
from specdoctor.core.server import DecodeWindow, SpecSetting

FEWEST_PER_POSITION = 30
"""Cycles that reached a draft position before its rate is printed; fewer say nothing (heuristic)."""


def measure(
    *,
    measurement_id: str,
    evidence: str,
    launch: str,
    launch_key: str,
    spec: SpecSetting,
    plan: BenchPlan,
    record: BenchRecord,
) -> Measurement:
    """Figures of one bench. Failed requests, and those too short to time, stay out of every average and are counted.

    A bench that was stopped has no figures: what ended before is no fair part of the load that was planned.
    """
    timed = [r for r in record.requests if r.ok and decode_time_s(r) is not None]
    counts = failures([r for r in record.requests if not r.ok or decode_time_s(r) is None])
    told = flags(timed, plan, record, spec, counts)
    good = [] if record.stopped else timed
    uncounted = all(r.verify_ct is None for r in good)
    by_counters = acceptance(record) if spec.on and good and not any(r.histogram for r in good) else None
    if by_counters is not None and by_counters.reset and uncounted:
        told += ("the server's counters were reset meanwhile (a flush or a restart): nothing is taken from them",)
    found = Measurement(
        id=measurement_id,
        launch=launch,
        launch_key=launch_key,
        spec=spec,
        concurrency=plan.concurrency,
        source="bench",
        requests=len(good),
        failed=len(record.requests) - len(timed),
        failures=counts,
        stopped=record.stopped or "",
        throughput=decode_throughput(good) if plan.concurrency == 1 else total_throughput(good),
        request_throughput=request_throughput(good) if plan.concurrency == 1 else decode_throughput(good),
        accept_length=accept_length(good, spec=spec),
        step=step_ms(good, spec=spec),
        conditional=conditional(good, spec=spec),
        ttft_ms=ttft_ms(good),
        prompt_set=f"{plan.prompt_set.name} ({plan.prompt_set.digest[:8]}), {plan.form} form, temperature "
        f"{plan.temperature:g}, at most {plan.max_new_tokens} tokens",
        cached_requests=sum(1 for r in good if (r.cached_tokens or 0) > (r.prompt_tokens or 0) // 2),
        flags=told,
        evidence=evidence,
    )
    if by_counters is not None and by_counters.accept_length is not None:
        whole: dict[str, object] = {"conditional": found.conditional or by_counters.conditional}
        if uncounted:
            whole |= {"accept_length": by_counters.accept_length}
            whole |= {"step": _step_by(by_counters.accept_length, found)}
        found = found.model_copy(update=whole)
    return _with_form(found, form_words(plan))


def _step_by(length: Estimate, found: Measurement) -> Estimate | None:
    """The cycle of a server that counts for all its requests together: tokens a cycle over the speed of one request."""
    speed = found.throughput
    if found.concurrency != 1 or speed is None or speed.low <= 0:
        return None
    value, low, high = (1000.0 * length.value / v for v in (speed.value, speed.high, speed.low))
    return between(value, low, high, "ms", estimator="accept length by counters / decode speed", n=speed.n)


def form_words(plan: BenchPlan) -> str:
    """How prompts were sent, as it stands in the name of each estimator."""
    if plan.form == "chat":
        return "by the chat endpoint"
    return "in the model's template" if plan.prompt_set.name.endswith(IN_TEMPLATE) else "raw prompts"


def _with_form(found: Measurement, words: str) -> Measurement:
    """The same figures with the form of the prompts in the name of their estimators."""
    named: dict[str, object] = {}
    for name in ("throughput", "request_throughput", "accept_length", "step", "ttft_ms"):
        figure = getattr(found, name)
        if isinstance(figure, Estimate):
            named[name] = figure.model_copy(update={"estimator": f"{figure.estimator}; {words}"})
    return found.model_copy(update=named)


def decode_time_s(request: RequestRecord) -> float | None:
    """Seconds from the first chunk to the last; None where there is no such span (one chunk, or unfinished)."""
    if request.t_first is None or request.t_last is None or request.chunks < 2 or request.completion_tokens is None:
        return None
    span = request.t_last - request.t_first
    return span if span > 0 and _decode_tokens(request) > 0 else None


def _decode_tokens(request: RequestRecord) -> int:
    first = request.tokens_first_chunk if request.tokens_first_chunk is not None else 1
    return (request.completion_tokens or 0) - first


def _times(requests: Sequence[RequestRecord]) -> list[tuple[RequestRecord, float]]:
    return [(r, t) for r in requests if (t := decode_time_s(r)) is not None]


def decode_throughput(requests: Sequence[RequestRecord]) -> Estimate | None:
    """Decode speed of one request, prefill outside the clock: (tokens after the first chunk) / (last - first)."""
    pairs = [(float(_decode_tokens(r)), t) for r, t in _times(requests)]
    return _ratio(pairs, "tok/s", "decode speed per request, prefill excluded")


def request_throughput(requests: Sequence[RequestRecord]) -> Estimate | None:
    """Speed of one request from sending to its last chunk, prefill included."""
    pairs = [(float(r.completion_tokens or 0), (r.t_last or 0.0) - r.t_send) for r, _ in _times(requests)]
    return _ratio(pairs, "tok/s", "request speed, prefill included")


def total_throughput(requests: Sequence[RequestRecord]) -> Estimate | None:
    """All tokens over the wall time of the load; the interval comes from the spread of the requests' own speeds."""
    timed = [r for r, _ in _times(requests)]
    if not timed:
        return None
    wall = max(r.t_last or 0.0 for r in timed) - min(r.t_send for r in timed)
    if wall <= 0:
        return None
    total = sum(r.completion_tokens or 0 for r in timed) / wall
    speeds = [(r.completion_tokens or 0) / ((r.t_last or 0.0) - r.t_send) for r in timed]
    spread = statistics.stdev(speeds) / statistics.fmean(speeds) / len(speeds) ** 0.5 if len(speeds) > 1 else 1.0
    estimator = "tokens of all requests over wall time, prefill included"
    return from_error(total, total * spread, "tok/s", estimator=estimator, n=len(timed), floor=0.0)


def accept_length(requests: Sequence[RequestRecord], *, spec: SpecSetting) -> Estimate | None:
    """Exact accept length with the bonus token: 1 + correct drafts / verify steps, pooled over the requests."""
    if not spec.on:
        return exact(1.0, "tokens/cycle", estimator="no speculation: one token per forward")
    return pooled_accept_length(counts_by_request(requests))


def conditional(requests: Sequence[RequestRecord], *, spec: SpecSetting) -> tuple[Estimate, ...]:
    """Conditional acceptance by draft position, as far as enough cycles got there."""
    if not spec.on:
        return ()
    counts = counts_by_request(requests)
    out: list[Estimate] = []
    for position in range(1, spec.draft_steps + 1):
        reached = sum(sum(c.histogram[position - 1 :]) for c in counts)
        estimate = pooled_conditional(counts, position) if reached >= FEWEST_PER_POSITION else None
        if estimate is None:
            break
        out.append(estimate)
    return tuple(out)


def counts_by_request(requests: Sequence[RequestRecord]) -> list[RequestCounts]:
    """Per-request counts; a histogram that contradicts the counts is left out, the counts stay."""
    out: list[RequestCounts] = []
    for r in requests:
        if not r.verify_ct or r.correct_drafts is None:
            continue
        histogram = r.histogram or ()
        agrees = sum(histogram) == r.verify_ct and sum(i * h for i, h in enumerate(histogram)) == r.correct_drafts
        out.append(
            RequestCounts(
                forwards=r.verify_ct,
                accepted_drafts=r.correct_drafts,
                histogram=histogram if agrees else (),
                prompt=r.prompt,
            )
        )
    return out


def step_ms(requests: Sequence[RequestRecord], *, spec: SpecSetting) -> Estimate | None:
    """Milliseconds per target forward: decode time over verify steps, or over tokens without speculation."""
    if spec.on:
        pairs = [(1000.0 * t, float(r.verify_ct)) for r, t in _times(requests) if r.verify_ct]
        return _ratio(pairs, "ms", "decode time / verify steps")
    pairs = [(1000.0 * t, float(_decode_tokens(r))) for r, t in _times(requests)]
    return _ratio(pairs, "ms", "decode time / tokens")


def ttft_ms(requests: Sequence[RequestRecord]) -> Estimate | None:
    """Median time to the first token, with the quartiles as its range."""
    times = sorted(1000.0 * ((r.t_first or 0.0) - r.t_send) for r, _ in _times(requests))
    if len(times) < 2:
        return None
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return between(middle, low, high, "ms", estimator="median time to first token (quartiles)", n=len(times))


def _ratio(pairs: Sequence[tuple[float, float]], unit: Unit, estimator: str) -> Estimate | None:
    found = bootstrap_ratio(pairs)
    if found is None:
        return None
    error = found.standard_error
    if error is None:
        return between(found.value, 0.0, 2 * found.value, unit, estimator=f"{estimator}; one request", n=1)
    df = max(found.n - 1.0, 1.0)
    return from_error(found.value, error, unit, estimator=estimator, n=found.n, df=df, floor=0.0)


def traffic_measurement(
    *,
    measurement_id: str,
    evidence: str,
    launch: str,
    launch_key: str,
    spec: SpecSetting,
    windows: Sequence[DecodeWindow],
    whose: str = "requests of any client",
) -> Measurement | None:
    """What a log shows of the requests in it, at the batch size seen most; `whose` they are, as far as that is told.

    Accept length is weighted by drafts where the engine prints them, else by running requests; the cycle is the median
    over clean windows of running * accept length / throughput. None when no window holds living requests.
    """
    living = [w for w in windows if w.running > 0 and w.tokens != 0]
    if not living:
        return None
    running = statistics.mode(w.running for w in living)
    same = [w for w in living if w.running == running]
    clean = [w for w in same if w.clean and w.throughput_tok_s > 0]
    length: Estimate | None = exact(1.0, "tokens/cycle", estimator="no speculation: one token per forward")
    if spec.on:
        length = _logged_length(same)
    per_token = [(w.accept_length or 1.0) * w.running * 1000.0 / w.throughput_tok_s for w in clean]
    return Measurement(
        id=measurement_id,
        launch=launch,
        launch_key=launch_key,
        spec=spec,
        concurrency=running,
        source="log",
        requests=len(same),
        throughput=_median(
            [w.throughput_tok_s for w in clean], "tok/s", "median over clean decode lines, all requests"
        ),
        accept_length=length,
        step=_median(per_token, "ms", "median over clean decode lines of running * accept length / throughput"),
        queue_max=max(w.queue for w in living),
        running_max=max(w.running for w in living),
        prompt_set=whose,
        evidence=evidence,
    )


def _logged_length(windows: Sequence[DecodeWindow]) -> Estimate | None:
    counts = [w.counts for w in windows if w.counts is not None and w.counts.drafts]
    if counts:
        pairs = [(float((c.drafts or 0) + c.accepted), float(c.drafts or 0)) for c in counts]
        return _ratio_of(pairs, "accepted tokens / drafts + 1 over the log's intervals")
    lengths = [(w.accept_length, w.running) for w in windows if w.accept_length is not None]
    return _ratio_of([(al * run, run) for al, run in lengths], "decode lines weighted by running requests")


def _ratio_of(pairs: Sequence[tuple[float, float]], estimator: str) -> Estimate | None:
    found = bootstrap_ratio([(float(a), float(b)) for a, b in pairs])
    if found is None:
        return None
    if found.standard_error is None:
        return between(found.value, 1.0, max(found.value, 1.0) * 2, "tokens/cycle", estimator=estimator, n=1)
    df = max(found.n - 1.0, 1.0)
    error = found.standard_error
    return from_error(found.value, error, "tokens/cycle", estimator=estimator, n=found.n, df=df, floor=1.0)


def _median(values: Sequence[float], unit: Unit, estimator: str) -> Estimate | None:
    if len(values) < 2:
        return None
    ordered = sorted(values)
    spread = 1.2533 * statistics.stdev(ordered) / len(ordered) ** 0.5
    middle = statistics.median(ordered)
    return from_error(middle, spread, unit, estimator=estimator, n=len(ordered), df=len(ordered) - 1.0, floor=0.0)
