"""The clients of a benchmark on a virtual clock, and their requests as they see them."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence

from specdoctor.core.measurement import BenchPlan, RequestRecord
from specdoctor.lab.engine_core import EngineCore
from specdoctor.lab.engine_types import GenRequest, Token
from specdoctor.lab.virtual_clock import VirtualClock

CORRECT_KEYS = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
PROPOSED_KEYS = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
HISTOGRAM_KEYS = ("spec_correct_drafts_histogram", "spec_accept_histogram")
OnDone = Callable[[int], None]


def closed_loop(
    core: EngineCore, plan: BenchPlan, count: int, name: str, *, clock: VirtualClock, log: list[str], on_done: OnDone
) -> list[RequestRecord]:
    """`count` requests of a plan in virtual time, each client with one under way; `name` begins their ids.

    A plan with a rate sends by the clock instead. What the server logs goes to `log`.
    """
    prompts = plan.prompt_set.prompts
    due = [(clock.now(), i) for i in range(min(plan.concurrency, count))]
    if plan.rate_per_s is not None and name == "r":
        source, at_s, due = random.Random(plan.seed), clock.now(), []
        for i in range(count):
            due.append((at_s, i))
            at_s += source.expovariate(plan.rate_per_s)
    heapq.heapify(due)
    sent = len(due)
    open_requests: dict[str, _Open] = {}
    records: list[RequestRecord] = []
    while due or open_requests:
        while due and due[0][0] <= clock.now():
            at_s, number = heapq.heappop(due)
            prompt = prompts[number % len(prompts)]
            key = f"{plan.action}-{name}{number}"
            request = GenRequest(
                id=key,
                prompt=prompt.text,
                max_new_tokens=plan.max_new_tokens,
                temperature=plan.temperature,
                structured=bool(plan.json_schema),
                stream=True,
            )
            core.submit(request, at_s)
            open_requests[key] = _Open(prompt.id, prompt.category, at_s, plan.keep)
        result = core.step(clock.now())
        if result is None:
            if not due:
                break
            clock.reach(due[0][0])
            continue
        clock.sleep(result.duration_s)
        log += result.log_lines
        for key, tokens in result.deltas.items():
            if key in open_requests:
                open_requests[key].chunk(clock.now(), tokens)
        for key, finished in result.finished.items():
            if key not in open_requests:
                continue
            records.append(open_requests.pop(key).record(key, finished.meta_info))
            on_done(len(records))
            if sent < count:
                heapq.heappush(due, (clock.now() + 0.001, sent))
                sent += 1
    return records


class _Open:
    """A request on its way, as the client sees it."""

    def __init__(self, prompt: str, category: str, sent_s: float, keep: str = "") -> None:
        self._prompt, self._category, self._sent_s = prompt, category, sent_s
        self._first_s: float | None = None
        self._last_s: float | None = None
        self._chunks = 0
        self._first_tokens = 0
        self._gaps: list[float] = []
        self._keep, self._tokens = keep, list[Token]()

    def chunk(self, at_s: float, tokens: Sequence[Token]) -> None:
        if self._keep:
            self._tokens += tokens
        if self._first_s is None:
            self._first_s, self._first_tokens = at_s, len(tokens)
        if self._last_s is not None:
            self._gaps.append(at_s - self._last_s)
        self._last_s = at_s
        self._chunks += 1

    def record(self, key: str, meta: dict[str, object]) -> RequestRecord:
        """The finished request with the server's own counts."""
        histogram = next((meta[k] for k in HISTOGRAM_KEYS if k in meta), None)
        return RequestRecord(
            id=key,
            prompt=self._prompt,
            category=self._category,
            ok=True,
            t_send=self._sent_s,
            t_first=self._first_s,
            t_last=self._last_s,
            chunks=self._chunks,
            prompt_tokens=_count(meta, "prompt_tokens"),
            completion_tokens=_count(meta, "completion_tokens"),
            cached_tokens=_count(meta, "cached_tokens"),
            tokens_first_chunk=self._first_tokens,
            verify_ct=_count(meta, "spec_verify_ct"),
            correct_drafts=_count(meta, *CORRECT_KEYS),
            proposed_drafts=_count(meta, *PROPOSED_KEYS),
            histogram=tuple(histogram) if isinstance(histogram, list) else None,
            text="".join(t.text for t in self._tokens) if self._keep else None,
            choices=tuple((t.text, t.gap) for t in self._tokens) if self._keep == "choices" else (),
            gap_p50_ms=1000.0 * sorted(self._gaps)[len(self._gaps) // 2] if self._gaps else None,
        )


def _count(meta: dict[str, object], *keys: str) -> int | None:
    for key in keys:
        value = meta.get(key)
        if isinstance(value, int):
            return value
    return None
