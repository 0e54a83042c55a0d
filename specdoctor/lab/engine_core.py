"""The seam of the practice host: arguments in, a server's behaviour out.

    resolved = resolve(argv, env, world)                  # Resolved, or StartupFailure
    for step in startup_script(resolved, world, rng, now_s=t): ...   # StartupStep pieces; an Exit at the end = it died
    core = EngineCore(resolved, world, seed)
    core.submit(GenRequest(...), now_s)
    while (result := core.step(now_s)) is not None: ...

Nothing here sleeps, opens files or sockets: the caller owns the clock.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

from specdoctor.lab import sglang_info as info
from specdoctor.lab.acceptance import Drafter, Luck
from specdoctor.lab.counters import Counters
from specdoctor.lab.engine_types import (
    Exit,
    Finished,
    GenRequest,
    HttpReply,
    MemoryPlan,
    Occupancy,
    Resolved,
    StartupFailure,
    StartupStep,
    StepResult,
    Token,
)
from specdoctor.lab.physics import Jitter, StepTimes
from specdoctor.lab.sample_text import Continuation, looks_like_code, tokenize
from specdoctor.lab.sequences import PrefixCache, Sequence, prompt_key
from specdoctor.lab.sglang_args import context_length, resolve
from specdoctor.lab.sglang_metrics import MetricsPage
from specdoctor.lab.sglang_output import (
    DecodeStats,
    PrefillStats,
    accept_rate,
    decode_line,
    prefill_line,
    says_access,
    says_info,
    speculative_meta,
)
from specdoctor.lab.sglang_stamp import stamp
from specdoctor.lab.sglang_startup import WARMUP_TOKENS, StartupLog
from specdoctor.lab.world import World

__all__ = [
    "EngineCore",
    "Exit",
    "Finished",
    "GenRequest",
    "HttpReply",
    "MemoryPlan",
    "Occupancy",
    "Resolved",
    "StartupFailure",
    "StartupStep",
    "StepResult",
    "Token",
    "resolve",
    "startup_script",
]

_RESERVED_SHARE = 0.7
"""Share of a request's allowed output that is reserved in the KV pool when it is admitted."""


def startup_script(
    resolved: Resolved, world: World, rng: random.Random, *, now_s: float, pid: int = 4121
) -> Iterator[StartupStep | Exit]:
    """The start as timed pieces of log, stamped from `now_s` on.

    Ends with a step of phase "ready"; a start that dies ends with an `Exit` instead.
    """
    return StartupLog(resolved, world, rng, now_s, pid).steps()


class EngineCore:
    """A running server: queue, batch, cache, counters; one `step` is one scheduler iteration."""

    def __init__(
        self,
        resolved: Resolved,
        world: World,
        seed: int,
        *,
        ready_s: float = 0.0,
        pid: int = 4121,
        timings: Mapping[str, float] | None = None,
    ) -> None:
        self.resolved = resolved
        self._world = world
        self._seed = seed
        self._ready_s = ready_s
        self._pid = pid
        self._rng = random.Random(f"{seed}:{' '.join(resolved.argv)}")
        self._times = StepTimes(resolved, world)
        self._jitter = Jitter(world.physics.noise, self._rng)
        self._drafter = Drafter(resolved, world) if resolved.speculative else None
        self._waiting: list[Sequence] = []
        self._running: list[Sequence] = []
        self._aborted: set[str] = set()
        self._cache = PrefixCache(resolved.memory.max_total_num_tokens)
        self._empty_step_of = 0
        self._timings = dict(timings) if timings is not None else self._usual_timings()
        self._vocabulary = int(resolved.target.text_config.get("vocab_size", 32000))
        self.counters = Counters(last_decode_log_s=ready_s, last_prefill_log_s=ready_s)
        self._count_warm_up()

    # ---- requests

    def submit(self, request: GenRequest, now_s: float) -> HttpReply | None:
        """Queue a request; a reply (status 400 and a JSON error body) when it is refused."""
        if request.temperature < 0:
            return _refusal(f"temperature must be a non-negative finite number, got {request.temperature:g}.")
        prompt = request.prompt
        text = prompt if isinstance(prompt, str) else None
        ids = tokenize(prompt, self._vocabulary) if isinstance(prompt, str) else tuple(prompt)
        room = context_length(self.resolved.args, self.resolved.target) - len(ids)
        if room <= 0:
            context = context_length(self.resolved.args, self.resolved.target)
            return _refusal(
                f"The input ({len(ids)} tokens) is longer than the model's context length ({context} tokens)."
            )
        self._waiting.append(self._sequence(request, ids, text, room, now_s))
        return None

    def _sequence(
        self, request: GenRequest, ids: tuple[int, ...], text: str | None, room: int, now_s: float
    ) -> Sequence:
        base = prompt_key(ids)
        code = looks_like_code(text) if text is not None else False
        category = request.category or ("code" if code else "chat")
        key = f"{self._world.seed}:{base}"
        if request.temperature > 0:
            key += f":{self._seed}:{request.id}"
        continuation = Continuation(key, code=code or category == "code", vocabulary=self._vocabulary)
        limit = max(min(request.max_new_tokens, room), 1)
        stops = not request.ignore_eos and continuation.natural_length <= limit
        return Sequence(
            request=request,
            ids=ids,
            category=category,
            easiness=self._drafter.easiness(f"{self._world.seed}:{base}", category) if self._drafter else 0.0,
            luck=Luck(f"{key}:luck"),
            text=continuation,
            limit=continuation.natural_length if stops else limit,
            stops=stops,
            arrived_s=now_s,
        )

    def abort(self, request_id: str) -> None:
        """Forget a request at the next step (client gone)."""
        self._aborted.add(request_id)

    @property
    def running(self) -> int:
        """Requests in the batch."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._waiting)

    # ---- stepping

    def step(self, now_s: float) -> StepResult | None:
        """Run one iteration that begins now; None when there is nothing to do."""
        self._drop_aborted()
        if self._empty_step_of:
            return self._empty_step(now_s)
        admitted = self._admit()
        if admitted:
            return self._prefill(admitted, now_s)
        if self._running:
            return self._decode(now_s)
        return None

    def _drop_aborted(self) -> None:
        if self._aborted:
            self._waiting = [one for one in self._waiting if one.request.id not in self._aborted]
            self._running = [one for one in self._running if one.request.id not in self._aborted]
            self._aborted.clear()

    @property
    def _used_tokens(self) -> int:
        return sum(one.context for one in self._running)

    def _admit(self) -> list[tuple[Sequence, int]]:
        """Waiting requests that the next prefill pass takes, with the tokens it computes for each."""
        args = self.resolved.args
        budget = int(args["chunked_prefill_size"])
        budget = min(budget, int(args["max_prefill_tokens"])) if budget > 0 else int(args["max_prefill_tokens"])
        places = self.resolved.max_running_requests - len(self._running)
        free = self.resolved.memory.max_total_num_tokens - self._used_tokens
        free -= int(sum((one.limit - one.produced) * _RESERVED_SHARE for one in self._running))
        taken: list[tuple[Sequence, int]] = []
        for one in self._waiting:
            need = len(one.ids) + int(one.limit * _RESERVED_SHARE)
            if places <= 0 or budget <= 0 or (need > free and (taken or self._running)):
                break
            if one.forward_s is None:
                one.cached = self._reusable(one)
                one.prefilled = one.cached
            chunk = min(len(one.ids) - one.prefilled, budget)
            taken.append((one, chunk))
            places, budget, free = places - 1, budget - chunk, free - need
        return taken

    def _reusable(self, one: Sequence) -> int:
        if self.resolved.args["disable_radix_cache"] or one.request.health_check:
            return 0
        keep_back = 2 if self._drafter is not None and self.resolved.draft is not None else 1
        return max(min(self._cache.match(one.ids), len(one.ids) - keep_back), 0)

    def _prefill(self, taken: list[tuple[Sequence, int]], now_s: float) -> StepResult:
        counters = self.counters
        new_tokens = sum(chunk for _, chunk in taken)
        duration = self._jitter.actual_s(self._times.prefill_ms(new_tokens, len(taken)), now_s)
        end_s = now_s + duration
        before, cached = len(self._running), 0
        finishing: list[Sequence] = []
        for one, chunk in taken:
            if one.forward_s is None:
                one.forward_s = now_s
                cached += one.cached
                counters.queue_time.observe(now_s - one.arrived_s)
            one.prefilled += chunk
            if one.prefilled >= len(one.ids):
                finishing.append(one)
        self._waiting = [one for one in self._waiting if one not in finishing]
        pending = sum(len(one.ids) - one.prefilled for one, _ in taken if one not in finishing)
        self._count_prefill(taken, new_tokens, cached, duration)
        lines = [self._prefill_log(len(taken), new_tokens, cached, before, pending, end_s)]
        deltas: dict[str, tuple[Token, ...]] = {}
        for one in finishing:
            one.first_token_s = one.last_chunk_s = end_s
            deltas[one.request.id] = one.emit(1)
            counters.time_to_first_token[one.request.stream].observe(end_s - one.arrived_s)
        self._running += finishing
        finished = self._collect_finished(end_s)
        return StepResult(duration, deltas, finished, tuple(filter(None, lines)), "prefill")

    def _count_prefill(
        self, taken: list[tuple[Sequence, int]], new_tokens: int, cached: int, duration_s: float
    ) -> None:
        counters = self.counters
        counters.prefill_passes += 1
        counters.forward_passes += 1
        counters.prefill_tokens += new_tokens
        counters.cached_tokens += cached
        counters.prefill_busy_s += duration_s
        counters.last_pass_used_graph = False

    def _prefill_log(
        self, sequences: int, new_tokens: int, cached: int, running: int, pending: int, end_s: float
    ) -> str | None:
        gap = max(end_s - self.counters.last_prefill_log_s, 1e-6)
        self.counters.last_prefill_log_s = end_s
        if not says_info(self.resolved.args):
            return None
        stats = PrefillStats(
            sequences=sequences,
            new_tokens=new_tokens,
            cached_tokens=cached,
            usage=self._usage(),
            running=running,
            queue=len(self._waiting),
            pending_tokens=pending,
            graph=False,
            throughput=new_tokens / gap,
        )
        text = prefill_line(stats, release=self.resolved.release, iteration=self.counters.forward_passes)
        return self.note_line(text, end_s, rank=True)

    def _usage(self) -> float:
        return self._used_tokens / max(self.resolved.memory.max_total_num_tokens, 1)

    def _decode(self, now_s: float) -> StepResult:
        counters, batch = self.counters, list(self._running)
        mean_ms = self._times.decode_ms(len(batch), float(sum(one.context for one in batch)))
        duration = self._jitter.actual_s(mean_ms, now_s)
        end_s = now_s + duration
        deltas: dict[str, tuple[Token, ...]] = {}
        for one in batch:
            accepted = self._verify(one)
            tokens = one.emit(accepted + 1)
            deltas[one.request.id] = tokens
            counters.interval.tokens += accepted + 1
            counters.inter_token.observe((end_s - one.last_chunk_s) / len(tokens), len(tokens))
            one.last_chunk_s = end_s
        counters.step_times.setdefault(len(batch), []).append(duration)
        graph = self._times.uses_graph(len(batch))
        usage_tokens = self._used_tokens
        finished = self._collect_finished(end_s)
        if not self._running:
            self._empty_step_of = len(batch) if not self.resolved.args["disable_overlap_schedule"] else 0
        lines = self._decode_log(len(batch), usage_tokens, graph, end_s)
        return StepResult(duration, deltas, finished, lines, "decode")

    def _verify(self, one: Sequence) -> int:
        if self._drafter is None:
            return 0
        accepted = self._drafter.accepted(
            one.luck, one.produced, easiness=one.easiness, temperature=one.request.temperature
        )
        one.count_verify(accepted)
        self.counters.interval.accept_tokens += accepted + 1
        self.counters.interval.forwards += 1
        return accepted

    def _empty_step(self, now_s: float) -> StepResult:
        """With overlap scheduling one more step was launched before the end of the batch was known."""
        running, self._empty_step_of = self._empty_step_of, 0
        duration = self._jitter.actual_s(self._times.decode_ms(running, 0.0), now_s)
        lines = self._decode_log(running, 0, self._times.uses_graph(running), now_s + duration)
        return StepResult(duration, {}, {}, lines, "empty")

    def _decode_log(self, running: int, tokens: int, graph: bool, end_s: float) -> tuple[str, ...]:
        counters, resolved = self.counters, self.resolved
        counters.decode_steps += 1
        counters.forward_passes += 1
        counters.graph_steps += graph
        counters.last_pass_used_graph = graph
        if counters.decode_steps % int(resolved.args["decode_log_interval"]):
            return ()
        interval, gap = counters.interval, max(end_s - counters.last_decode_log_s, 1e-6)
        counters.last_decode_log_s = end_s
        counters.last_throughput = interval.tokens / gap
        counters.decode_tokens += interval.tokens
        accept: float | None = None
        if resolved.speculative:
            accept = interval.accept_tokens / interval.forwards if interval.forwards else 0.0
            counters.last_accept_length = accept
            counters.last_accept_rate = accept_rate(accept, resolved.num_draft_tokens, resolved.release)
            counters.accept_tokens_logged += interval.accept_tokens
            counters.forwards_logged += interval.forwards
        counters.interval = type(interval)()
        if not says_info(resolved.args):
            return ()
        stats = DecodeStats(
            running=running,
            tokens=tokens,
            usage=tokens / max(resolved.memory.max_total_num_tokens, 1),
            accept_length=accept,
            graph=graph,
            throughput=counters.last_throughput,
            queue=len(self._waiting),
        )
        text = decode_line(
            stats,
            release=resolved.release,
            draft_tokens=resolved.num_draft_tokens,
            iteration=counters.forward_passes,
        )
        return (self.note_line(text, end_s, rank=True),)

    def _collect_finished(self, end_s: float) -> dict[str, Finished]:
        finished: dict[str, Finished] = {}
        for one in [one for one in self._running if one.done]:
            finished[one.request.id] = self._finish(one, end_s)
        if finished:
            self._running = [one for one in self._running if not one.done]
            if not self._running and not self._empty_step_of and self._drafting_ahead():
                self._empty_step_of = len(finished)
        return finished

    def _drafting_ahead(self) -> bool:
        return not self.resolved.args["disable_overlap_schedule"]

    def _finish(self, one: Sequence, end_s: float) -> Finished:
        counters, stream = self.counters, one.request.stream
        if one.stops:
            end_id = self.resolved.target.text_config.get("eos_token_id", 2)
            reason: dict[str, Any] = {"type": "stop", "matched": end_id[0] if isinstance(end_id, list) else end_id}
        else:
            reason = {"type": "length", "length": one.produced}
        counters.requests[stream] += 1
        counters.prompt_tokens[stream] += len(one.ids)
        counters.generation_tokens[stream] += one.produced
        counters.latency[stream].observe(end_s - one.arrived_s)
        counters.verify_calls += one.verify_count
        if not one.request.health_check:
            answer = tuple(one.text.at(position).id for position in range(one.produced))
            self._cache.add(one.ids + answer, self._used_tokens)
        return Finished(reason, self._meta(one, reason) | self._final_meta(one, end_s))

    # ---- what a request is told

    def meta_info(self, request_id: str) -> dict[str, Any]:
        """meta_info of an unfinished request, for the chunks of a stream."""
        for one in [*self._running, *self._waiting]:
            if one.request.id == request_id:
                return self._meta(one, None)
        return {"id": request_id, "finish_reason": None}

    def _meta(self, one: Sequence, reason: dict[str, Any] | None) -> dict[str, Any]:
        release = self.resolved.release
        meta: dict[str, Any] = {
            "id": one.request.id,
            "finish_reason": reason,
            "prompt_tokens": len(one.ids),
            "weight_version": self.resolved.args.get("weight_version", "default"),
        }
        if release >= (0, 5, 9):
            meta["num_retractions"] = 0
        if release >= (0, 5, 14) or self.resolved.metrics_enabled:
            meta |= {
                "forward_entry_time": one.forward_s,
                "prefill_finished_time": one.first_token_s,
                "queue_time": (one.forward_s or one.arrived_s) - one.arrived_s,
            }
        if release >= (0, 5, 14):
            meta["reasoning_tokens"] = 0
        meta |= {"completion_tokens": one.produced, "cached_tokens": one.cached}
        if release >= (0, 5, 12):
            meta["cached_tokens_details"] = {"device": one.cached, "host": 0} if one.cached else None
            meta["dp_rank"] = None
        return meta

    def _final_meta(self, one: Sequence, end_s: float) -> dict[str, Any]:
        meta: dict[str, Any] = {"e2e_latency": end_s - one.arrived_s}
        if self.resolved.speculative:
            meta |= speculative_meta(
                release=self.resolved.release,
                completion_tokens=one.produced,
                verify_count=one.verify_count,
                correct=one.correct,
                histogram=one.histogram,
                draft_tokens=self.resolved.num_draft_tokens,
            )
        if self.resolved.release >= (0, 5, 12):
            first = one.first_token_s if one.first_token_s is not None else end_s
            decoding = end_s - first if one.request.stream else 2e-6
            meta |= {
                "request_received_ts": one.arrived_s - 0.002,
                "api_server_dispatch_finish_ts": one.arrived_s - 0.001,
                "request_finished_ts": end_s,
                "decode_throughput": (one.produced - 1) / max(decoding, 1e-6),
                "response_sent_to_client_ts": (first if one.request.stream else end_s) + 0.0004,
            }
        return meta

    # ---- what the endpoints answer

    @property
    def health_generates(self) -> bool:
        """Whether GET /health runs a request of one token in this version (submit one with `health_check=True`)."""
        switch = self.resolved.env.get("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "true").lower()
        return self.resolved.release >= (0, 5, 3) and switch not in {"0", "false", "no"}

    def server_info(self, now_s: float) -> dict[str, Any]:
        """Body of /server_info (and /get_server_info)."""
        return info.server_info(self.resolved, self.counters, self._timings)

    def model_info(self) -> dict[str, Any]:
        """Body of /model_info (and /get_model_info)."""
        return info.model_info(self.resolved)

    def models(self) -> dict[str, Any]:
        """Body of /v1/models."""
        return info.models_body(self.resolved, self._ready_s)

    def loads(self, now_s: float) -> dict[str, Any]:
        """Body of /v1/loads."""
        return info.loads_body(
            self.resolved,
            self._world,
            self.counters,
            now_s=now_s,
            running=len(self._running),
            waiting=len(self._waiting),
            tokens=self._used_tokens,
        )

    def old_load(self, now_s: float) -> list[dict[str, Any]]:
        """Body of the deprecated /get_load."""
        tokens = self._used_tokens
        waiting = len(self._waiting)
        return [
            {
                "dp_rank": 0,
                "num_reqs": len(self._running) + waiting,
                "num_waiting_reqs": waiting,
                "num_tokens": tokens,
                "num_pending_tokens": sum(len(one.ids) for one in self._waiting),
                "ts_tic": now_s - self._ready_s,
            }
        ]

    def metrics_text(self, now_s: float) -> str:
        """Body of /metrics in the Prometheus text format."""
        return MetricsPage(self.resolved).text(
            self.counters,
            self._timings,
            running=len(self._running),
            waiting=len(self._waiting),
            tokens=self._used_tokens,
            cached_pool=self._cache.tokens,
            pid=self._pid,
        )

    def endpoints(self) -> dict[str, str | None]:
        """Paths this version answers -> the path it says to use instead (a deprecated name), or None."""
        return info.endpoints(self.resolved)

    def flush_cache(self, now_s: float) -> HttpReply:
        """POST /flush_cache: empties the prefix cache and the accept-length totals when nothing runs or waits."""
        if self._running or self._waiting:
            text = (
                "Cache not flushed because there are pending requests. "
                f"#queue-req: {len(self._waiting)}, #running-req: {len(self._running)}"
            )
            return HttpReply(400, "Flush cache failed.\n", (self.note_line(text, now_s, rank=True),))
        self._cache.clear()
        self.counters.forget_acceptance()
        line = self.note_line("Cache flushed successfully!", now_s, rank=True)
        lines = (line,) if says_info(self.resolved.args) else ()
        hint = "Please check backend logs for more details. (When there are running or waiting requests, the operation "
        return HttpReply(200, f"Cache flushed.\n{hint}will not be performed.)\n", lines)

    def access_line(self, method: str, path: str, status: int, now_s: float) -> str:
        """The uvicorn line of one answered call ("" when its level is off); also counts the call for the metrics."""
        self.counters.http_requests[(path, method)] += 1
        self.counters.http_responses[(path, method, status)] += 1
        if not says_access(self.resolved.args):
            return ""
        words = {200: "200 OK", 400: "400 Bad Request", 401: "401 Unauthorized", 404: "404 Not Found"}
        said = words.get(status, f"{status} Service Unavailable" if status == 503 else str(status))
        port = self._rng.randrange(32768, 60999)
        return self.note_line(f'INFO:     127.0.0.1:{port} - "{method} {path} HTTP/1.1" {said}', now_s)

    def note_line(self, text: str, now_s: float, *, rank: bool = False) -> str:
        """A log line of the launcher (or of rank 0) with this version's stamp."""
        name = "TP0" if rank and self.resolved.tp_size > 1 else ""
        milliseconds = self.resolved.env.get("SGLANG_LOG_MS", "") in {"1", "true"}
        return stamp(now_s, release=self.resolved.release, rank=name, milliseconds=milliseconds) + text

    def deprecation_line(self, path: str, now_s: float) -> str | None:
        """The warning that a call of this path causes; None for current paths."""
        newer = self.endpoints().get(path)
        return self.note_line(info.deprecation_text(path, newer), now_s) if newer else None

    def _usual_timings(self) -> dict[str, float]:
        startup, resolved = self._world.physics.startup, self.resolved
        graphs = {
            phase: startup.draft_capture_s if phase.startswith("draft") else startup.capture_s
            for phase in resolved.graphs.phases
        }
        weights = resolved.target.load_s + (resolved.draft.load_s if resolved.draft is not None else 0.0)
        scheduler = startup.distributed_s + weights + startup.memory_pool_s + sum(graphs.values())
        return graphs | {
            "load_weight": weights,
            "kv_cache_allocation": startup.memory_pool_s,
            "scheduler_e2e": scheduler,
            "tokenizer_e2e": scheduler + startup.import_s + startup.tokenizer_s + startup.http_s,
        }

    def _count_warm_up(self) -> None:
        counters = self.counters
        counters.prefill_passes = counters.forward_passes = 1
        counters.prefill_tokens = WARMUP_TOKENS
        counters.decode_steps = 4
        counters.forward_passes += 4
        counters.graph_steps = 4 if self._times.uses_graph(1) else 0
        counters.http_requests[("/model_info", "GET")] = counters.http_requests[("/generate", "POST")] = 1
        counters.http_responses[("/model_info", "GET", 200)] = counters.http_responses[("/generate", "POST", 200)] = 1
        counters.prompt_tokens[False] += WARMUP_TOKENS
        counters.generation_tokens[False] += 8
        counters.requests[False] += 1


def _refusal(message: str) -> HttpReply:
    return HttpReply(400, json.dumps({"error": {"message": message}}))
