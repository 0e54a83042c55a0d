"""Many short answers at once, for one figure: how long a forward of so many tokens takes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from specdoctor.analysis.interval import Estimate, from_error
from specdoctor.app.measuring import decode_time_s
from specdoctor.core.measurement import BenchPlan, BenchRecord, Measurement, RequestRecord, in_short_answers
from specdoctor.core.server import DecodeWindow

_TOKENS = 64
_FEWEST = 4
_TAKEN = 0.8
"""Share of the clients that must be decoding together, or the server took less than was asked (heuristic)."""
_CLIENT_LIMIT = "client near its own limit"


def wide_plan(plan: BenchPlan) -> BenchPlan:
    """The same load with short answers, each client asking twice."""
    warmup = max(plan.concurrency, 2)
    return plan.model_copy(
        update={
            "requests": max(_FEWEST, 2 * plan.concurrency),
            "max_new_tokens": min(_TOKENS, plan.max_new_tokens),
            "warmup": warmup,
            "warmup_most": warmup,
            "own_command": (),
        }
    )


def wide_figures(
    measurement: Measurement, plan: BenchPlan, record: BenchRecord, windows: Sequence[DecodeWindow]
) -> dict[str, object]:
    """What a measurement of this kind says of itself: its key, and the step, or why there is none to be had."""
    timed = [r for r in record.requests if r.ok and decode_time_s(r) is not None]
    why = "" if timed and not record.stopped else "nothing could be timed"
    why = why or _unlike(measurement, plan, timed, windows)
    return {
        "source": "wide",
        "launch_key": in_short_answers(measurement.launch_key),
        "launch": in_short_answers(measurement.launch),
        "between_chunks": None if why else _between_chunks(timed),
        "flags": (*measurement.flags, *((f"no step is taken from it: {why}",) if why else ())),
    }


def _unlike(
    measurement: Measurement, plan: BenchPlan, timed: Sequence[RequestRecord], windows: Sequence[DecodeWindow]
) -> str:
    """Why a step of this load is not that of one forward of so many tokens; empty where it is."""
    together = _together(timed)
    if together < _TAKEN * plan.concurrency:
        return f"{together:g} of {plan.concurrency} clients were answered at once"
    if any(flag.startswith(_CLIENT_LIMIT) for flag in measurement.flags):
        return _CLIENT_LIMIT
    if any(w.graph is False and w.running > plan.concurrency // 2 for w in windows):
        return "the server decodes so many without a CUDA graph"
    return ""


def _together(timed: Sequence[RequestRecord]) -> float:
    """How many requests were being decoded when the median one was halfway."""
    spans = [(r.t_first or 0.0, r.t_last or 0.0) for r in timed]
    middles = [(first + last) / 2.0 for first, last in spans]
    return statistics.median(sum(first <= at <= last for first, last in spans) for at in middles)


def _between_chunks(timed: Sequence[RequestRecord]) -> Estimate | None:
    """Median time between two chunks of a stream: prefill of other requests in between does not move it."""
    gaps = [r.gap_p50_ms for r in timed if r.gap_p50_ms]
    if len(gaps) < 2:
        return None
    error = 1.2533 * statistics.stdev(gaps) / len(gaps) ** 0.5
    estimator = "median time between chunks, median over requests"
    return from_error(statistics.median(gaps), error, "ms", estimator=estimator, n=len(gaps), floor=0.0)
