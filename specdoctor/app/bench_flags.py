"""What must be said about a bench beside its figures: what failed, what disturbed it, and what its figures are not."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from specdoctor.core.measurement import BenchPlan, BenchRecord, RequestRecord
from specdoctor.core.server import SpecSetting

CLOCK_JUMP_S = 1.0
WARM_DRIFT = 0.05
CLIENT_SHARE = 0.8
LATE_S = 0.1
BUSY = ("http 429", "http 503")
UNTIMED = "too short to be timed"

_KINDS = {
    "timeout": "ran into the time limit",
    "connection": "lost or without a connection",
    "broken stream": "broken off without an end",
    "server error": "ended with a server error",
    "stopped": "unfinished when the bench was stopped",
}
_RUNNING = re.compile(r"Decode batch.*?#running-req: (\d+)")
_POSTED = re.compile(r'"POST (?:/generate|/v1/(?:chat/)?completions|/completion)[ ?]')


def failure_kind(request: RequestRecord) -> str:
    """What became of a request that is in no figure, in words that stand after a number."""
    if request.ok:
        return UNTIMED
    error = request.error or ""
    if error.startswith(BUSY):
        return f"refused as too busy ({error[5:8]})"
    if error.startswith("http "):
        return f"refused ({error[:8]})"
    return next((words for kind, words in _KINDS.items() if error.startswith(kind)), "failed")


def failures(left_out: Sequence[RequestRecord]) -> dict[str, int]:
    """How many requests are in no figure, by what became of them; most frequent first."""
    return dict(Counter(map(failure_kind, left_out)).most_common())


def failures_text(counts: dict[str, int], total: int) -> str:
    """One sentence, empty where nothing failed."""
    if not counts:
        return ""
    return f"{sum(counts.values())} of {total} requests are in no figure: " + ", ".join(
        f"{count} {kind}" for kind, count in counts.items()
    )


def flags(
    good: Sequence[RequestRecord], plan: BenchPlan, record: BenchRecord, spec: SpecSetting, counts: dict[str, int]
) -> tuple[str, ...]:
    """Everything to say about these figures, most weighty first."""
    return (
        *_course(plan, record, counts),
        *_client(good, plan, record),
        *_server(good, plan, record, spec),
        *_answers(good, plan),
    )


def _course(plan: BenchPlan, record: BenchRecord, counts: dict[str, int]) -> Iterator[str]:
    if record.stopped:
        ended = sum(1 for r in record.requests if r.ok)
        kept = f"; the {ended} requests that had ended by then are averaged into nothing" if ended else ""
        yield f"stopped early: {record.stopped}{kept}"
    told = failures_text(counts, len(record.requests))
    if told:
        yield told
    if any("busy" in kind for kind in counts):
        yield "the server took less load than was planned: requests were refused"
    if not record.warmed_up:
        yield "not warmed up"
    if record.warmup_failed and record.warmed_up:
        yield f"{record.warmup_failed} of {record.warmup_requests} warm-up requests failed"
    if record.warmup_drift is not None and abs(record.warmup_drift) > WARM_DRIFT:
        yield f"the step still moved by {record.warmup_drift:+.0%} at the end of the warm-up"
    if abs(record.clock_jump_s) > CLOCK_JUMP_S:
        yield f"the host's clock was set by {record.clock_jump_s:+.0f} s meanwhile; times are by one that nobody sets"


def _client(good: Sequence[RequestRecord], plan: BenchPlan, record: BenchRecord) -> Iterator[str]:
    wall = record.wall_s if record.wall_s is not None else record.ended_at - record.started_at
    late = plan.rate_per_s is not None and record.late_s > LATE_S
    if record.client_cpu_s > CLIENT_SHARE * max(wall, 1e-9) or late:
        yield "client near its own limit" + (f": a request was sent {record.late_s:.1f} s late" if late else "")
    if plan.rate_per_s is None and plan.concurrency > len(good):
        yield "fewer requests than clients"


def _server(good: Sequence[RequestRecord], plan: BenchPlan, record: BenchRecord, spec: SpecSetting) -> Iterator[str]:
    if spec.on and good and all(r.verify_ct is None for r in good):
        yield "no counts per request"
    foreign = foreign_requests(plan, record)
    if foreign:
        yield f"foreign traffic: at least {foreign} requests of others at the same time"
    cached = sum(1 for r in good if (r.cached_tokens or 0) > (r.prompt_tokens or 0) // 2)
    if cached:
        yield f"{cached} of {len(good)} prompts came from the prefix cache"


def foreign_requests(plan: BenchPlan, record: BenchRecord) -> int:
    """Requests of others that the server's log shows meanwhile: posted beyond ours, or running beyond our clients."""
    posted = len(_POSTED.findall(record.log)) - len(record.requests)
    running = max((int(n) for n in _RUNNING.findall(record.log)), default=0) - plan.concurrency
    return max(posted, 0 if plan.rate_per_s else running, 0)


def _answers(good: Sequence[RequestRecord], plan: BenchPlan) -> Iterator[str]:
    if plan.ignore_eos:
        yield f"ignore_eos: all {plan.max_new_tokens} tokens long, past their natural end, which moves acceptance"
    else:
        cut = sum(1 for r in good if r.finish == "length")
        if good and cut:
            yield f"{cut} of {len(good)} answers were truncated at {plan.max_new_tokens} tokens"
    prompts = {r.prompt for r in good}
    if len(prompts) > 2 and len({r.text_digest for r in good}) == 1 and good[0].text_digest:
        yield "all answers are the same text: nothing can be said about acceptance on real traffic"
    if any(r.tokens_first_chunk is None for r in good):
        yield "the server does not count tokens chunk by chunk: the first chunk is taken for one token"
    full = [r.tokens_first_chunk for r in good if r.tokens_first_chunk is not None]
    if full and statistics.median(full) > 2:
        yield f"the first chunk held {statistics.median(full):.0f} tokens: times to the first token are later than it"
