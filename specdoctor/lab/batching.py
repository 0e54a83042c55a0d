"""Continuous batching: who waits, who runs, what the next iteration does."""

from __future__ import annotations

from specdoctor.lab.acceptance import Drafter
from specdoctor.lab.counters import Counters
from specdoctor.lab.engine_types import Finished, Resolved, StepResult, Token
from specdoctor.lab.physics import Jitter, StepTimes
from specdoctor.lab.request_meta import final_meta, finish_reason
from specdoctor.lab.sequences import PrefixCache, Sequence
from specdoctor.lab.sglang_output import PrefillStats
from specdoctor.lab.step_log import StepLog

_RESERVED_SHARE = 0.7
"""Share of a request's allowed output that is reserved in the KV pool when it is admitted."""


class Batcher:
    """The scheduler of one server: prefill before decode, at most `max_running_requests` together."""

    def __init__(
        self,
        resolved: Resolved,
        *,
        times: StepTimes,
        jitter: Jitter,
        drafter: Drafter | None,
        counters: Counters,
    ) -> None:
        self._resolved = resolved
        self._times, self._jitter, self._drafter = times, jitter, drafter
        self._counters = counters
        self._log = StepLog(resolved, counters)
        self._log.count_warm_up(graph=times.uses_graph(1))
        self.waiting: list[Sequence] = []
        self.running: list[Sequence] = []
        self.cache = PrefixCache(resolved.memory.max_total_num_tokens)
        self._aborted: set[str] = set()
        self._surplus_step_of = 0

    @property
    def used_tokens(self) -> int:
        """Tokens in the KV pool that running requests hold."""
        return sum(one.context for one in self.running)

    def abort(self, request_id: str) -> None:
        self._aborted.add(request_id)

    def find(self, request_id: str) -> Sequence | None:
        """The unfinished request of this id."""
        return next((one for one in [*self.running, *self.waiting] if one.request.id == request_id), None)

    def step(self, now_s: float) -> StepResult | None:
        """Run one iteration that begins now; None when there is nothing to do."""
        self._drop_aborted()
        if self._surplus_step_of:
            return self._surplus_step(now_s)
        admitted = self._admit()
        if admitted:
            return self._prefill(admitted, now_s)
        return self._decode(now_s) if self.running else None

    def _drop_aborted(self) -> None:
        if self._aborted:
            self.waiting = [one for one in self.waiting if one.request.id not in self._aborted]
            self.running = [one for one in self.running if one.request.id not in self._aborted]
            self._aborted.clear()

    def _admit(self) -> list[tuple[Sequence, int]]:
        """Waiting requests that the next prefill pass takes, with the tokens it computes for each."""
        if not self.waiting:
            return []
        args = self._resolved.args
        chunked, budget = int(args["chunked_prefill_size"]), int(args["max_prefill_tokens"])
        budget = min(budget, chunked) if chunked > 0 else budget
        places = self._resolved.max_running_requests - len(self.running)
        free = self._resolved.memory.max_total_num_tokens - self.used_tokens
        free -= int(sum((one.limit - one.produced) * _RESERVED_SHARE for one in self.running))
        taken: list[tuple[Sequence, int]] = []
        for one in self.waiting:
            need = len(one.ids) + int(one.limit * _RESERVED_SHARE)
            if places <= 0 or budget <= 0 or (need > free and (taken or self.running)):
                break
            if one.forward_s is None:
                one.cached = one.prefilled = self._reusable(one)
            chunk = min(len(one.ids) - one.prefilled, budget)
            taken.append((one, chunk))
            places, budget, free = places - 1, budget - chunk, free - need
        return taken

    def _reusable(self, one: Sequence) -> int:
        if self._resolved.args["disable_radix_cache"] or one.request.health_check:
            return 0
        keep_back = 2 if self._resolved.draft is not None else 1
        return max(min(self.cache.match(one.ids), len(one.ids) - keep_back), 0)

    def _prefill(self, taken: list[tuple[Sequence, int]], now_s: float) -> StepResult:
        new_tokens = sum(chunk for _, chunk in taken)
        duration = self._jitter.actual_s(self._times.prefill_ms(new_tokens, len(taken)), now_s)
        end_s, before = now_s + duration, len(self.running)
        cached = sum(one.cached for one, _ in taken if one.forward_s is None)
        ready = [one for one, chunk in taken if one.advance_prefill(chunk, now_s, self._counters.queue_time)]
        self.waiting = [one for one in self.waiting if one not in ready]
        stats = PrefillStats(
            sequences=len(taken),
            new_tokens=new_tokens,
            cached_tokens=cached,
            usage=self.used_tokens / max(self._resolved.memory.max_total_num_tokens, 1),
            running=before,
            queue=len(self.waiting),
            pending_tokens=sum(len(one.ids) - one.prefilled for one, _ in taken if one not in ready),
            graph=False,
        )
        lines = self._log.prefill(stats, duration_s=duration, end_s=end_s)
        deltas: dict[str, tuple[Token, ...]] = {}
        for one in ready:
            one.first_token_s = one.last_chunk_s = end_s
            deltas[one.request.id] = one.emit(1)
            self._counters.time_to_first_token[one.request.stream].observe(end_s - one.arrived_s)
        self.running += ready
        return StepResult(duration, deltas, self._take_finished(end_s), lines, "prefill")

    def _decode(self, now_s: float) -> StepResult:
        counters, batch = self._counters, list(self.running)
        mean_ms = self._times.decode_ms(len(batch), float(self.used_tokens))
        duration = self._jitter.actual_s(mean_ms, now_s)
        end_s = now_s + duration
        deltas: dict[str, tuple[Token, ...]] = {}
        for one in batch:
            tokens = one.emit(self._verify(one) + 1)
            deltas[one.request.id] = tokens
            counters.inter_token.observe((end_s - one.last_chunk_s) / len(tokens), len(tokens))
            one.last_chunk_s = end_s
        counters.step_times.setdefault(len(batch), []).append(duration)
        held = sum(one.context for one in batch if not one.done)
        finished = self._take_finished(end_s)
        lines = self._log.decode(
            running=len(batch),
            tokens=held,
            queue=len(self.waiting),
            graph=self._times.uses_graph(len(batch)),
            end_s=end_s,
        )
        return StepResult(duration, deltas, finished, lines, "decode")

    def _verify(self, one: Sequence) -> int:
        """Drafts accepted for one request in this step."""
        interval, accepted = self._counters.interval, 0
        if self._drafter is not None:
            easiness = one.easiness + self._drafter.beyond(one.context)
            accepted = self._drafter.accepted(
                one.luck, one.produced, easiness=easiness, temperature=one.request.temperature
            )
            one.count_verify(accepted)
            interval.accept_tokens += accepted + 1
            interval.forwards += 1
        interval.tokens += accepted + 1
        return accepted

    def _surplus_step(self, now_s: float) -> StepResult:
        """With overlap scheduling one more step was launched before the end of the batch was known."""
        running, self._surplus_step_of = self._surplus_step_of, 0
        duration = self._jitter.actual_s(self._times.decode_ms(running, 0.0), now_s)
        graph, end_s = self._times.uses_graph(running), now_s + duration
        lines = self._log.decode(running=running, tokens=0, queue=len(self.waiting), graph=graph, end_s=end_s)
        return StepResult(duration, {}, {}, lines, "empty")

    def _take_finished(self, end_s: float) -> dict[str, Finished]:
        ended = [one for one in self.running if one.done]
        if not ended:
            return {}
        finished = {one.request.id: self._finish(one, end_s) for one in ended}
        self.running = [one for one in self.running if not one.done]
        if not self.running and not self._resolved.args["disable_overlap_schedule"]:
            self._surplus_step_of = len(ended)
        return finished

    def _finish(self, one: Sequence, end_s: float) -> Finished:
        counters, stream = self._counters, one.request.stream
        counters.requests[stream] += 1
        counters.prompt_tokens[stream] += len(one.ids)
        counters.generation_tokens[stream] += one.produced
        counters.latency[stream].observe(end_s - one.arrived_s)
        counters.verify_calls += one.verify_count
        if not one.request.health_check:
            answer = tuple(token.id for token in one.text.tokens(0, one.produced))
            self.cache.add(one.ids + answer, self.used_tokens)
        return Finished(finish_reason(self._resolved, one), final_meta(self._resolved, one, end_s))
