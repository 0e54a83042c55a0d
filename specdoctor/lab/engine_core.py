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
from specdoctor.lab.acceptance import Drafter, luck_of
from specdoctor.lab.batching import Batcher
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
from specdoctor.lab.physics import Jitter, StepTimes, started
from specdoctor.lab.request_meta import running_meta
from specdoctor.lab.sample_text import continuation, looks_like_code, tokenize
from specdoctor.lab.sequences import Sequence, prompt_key
from specdoctor.lab.sglang_args import context_length, resolve
from specdoctor.lab.sglang_metrics import MetricsPage
from specdoctor.lab.sglang_output import says_access, says_info
from specdoctor.lab.sglang_startup import StartupLog, usual_timings
from specdoctor.lab.step_log import stamped
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

_STATUS_WORDS = {
    200: "200 OK",
    400: "400 Bad Request",
    401: "401 Unauthorized",
    404: "404 Not Found",
    503: "503 Service Unavailable",
}


def startup_script(
    resolved: Resolved, world: World, rng: random.Random, *, now_s: float, pid: int = 4121
) -> Iterator[StartupStep | Exit]:
    """The start as timed pieces of log, stamped from `now_s` on.

    Ends with a step of phase "ready"; a start that dies ends with an `Exit` instead.
    """
    return StartupLog(resolved, world, rng, now_s, pid).steps()


class EngineCore:
    """A running server: queue, batch, cache, counters; one `step` is one scheduler iteration.

    `timings` are the seconds of the start by phase, as `StartupLog.timings` gives them.
    """

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
        self.counters = Counters(last_decode_log_s=ready_s, last_prefill_log_s=ready_s)
        self._world = world
        self._seed = seed
        self._ready_s = ready_s
        self._pid = pid
        self._timings = dict(timings) if timings is not None else usual_timings(resolved, world)
        self._rng = random.Random(f"{seed}:{' '.join(resolved.argv)}")
        self._drafter = Drafter(resolved, world) if resolved.speculative else None
        self._batch = Batcher(
            resolved,
            times=StepTimes(resolved, started(world, seed)),
            jitter=Jitter(world.physics.noise, self._rng),
            drafter=self._drafter,
            counters=self.counters,
        )
        self._vocabulary = int(resolved.target.text_config.get("vocab_size", 32000))

    # ---- requests

    def submit(self, request: GenRequest, now_s: float) -> HttpReply | None:
        """Queue a request; a reply (status 400 and a JSON error body) when it is refused."""
        if request.temperature < 0:
            return _refusal(f"temperature must be a non-negative finite number, got {request.temperature:g}.")
        prompt = request.prompt
        ids = tokenize(prompt, self._vocabulary) if isinstance(prompt, str) else tuple(prompt)
        context = context_length(self.resolved.args, self.resolved.target)
        if len(ids) >= context:
            longer = f"The input ({len(ids)} tokens) is longer than the model's context length ({context} tokens)."
            return _refusal(longer)
        self._batch.waiting.append(self._sequence(request, ids, context - len(ids), now_s))
        return None

    def _sequence(self, request: GenRequest, ids: tuple[int, ...], room: int, now_s: float) -> Sequence:
        words = request.prompt if isinstance(request.prompt, str) else None
        code = words is not None and looks_like_code(words)
        category = request.category or ("code" if code else "chat")
        base = f"{self._world.seed}:{prompt_key(ids)}"
        key = base if request.temperature <= 0 else f"{base}:{self._seed}:{request.id}"
        text = continuation(
            key,
            code=category == "code",
            vocabulary=self._vocabulary,
            rounding="wide" if self.resolved.speculative else "single",
            noise=self._world.engine.loses_sampled_text and self.resolved.speculative and request.temperature > 0,
        )
        limit = max(min(request.max_new_tokens, room), 1)
        stops = not request.ignore_eos and text.natural_length <= limit
        return Sequence(
            request=request,
            ids=ids,
            easiness=self._drafter.easiness(base, category, words, structured=request.structured)
            if self._drafter
            else 0.0,
            luck=luck_of(f"{key}:luck", self._drafter.stretch_tokens if self._drafter else 1.0),
            text=text,
            limit=text.natural_length if stops else limit,
            stops=stops,
            arrived_s=now_s,
        )

    def abort(self, request_id: str) -> None:
        """Forget a request at the next step (client gone)."""
        self._batch.abort(request_id)

    def step(self, now_s: float) -> StepResult | None:
        """Run one iteration that begins now; None when there is nothing to do."""
        return self._batch.step(now_s)

    def meta_info(self, request_id: str) -> dict[str, Any]:
        """meta_info of an unfinished request, for the chunks of a stream."""
        one = self._batch.find(request_id)
        return {"id": request_id, "finish_reason": None} if one is None else running_meta(self.resolved, one)

    @property
    def running(self) -> int:
        """Requests in the batch."""
        return len(self._batch.running)

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._batch.waiting)

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
            running=self.running,
            waiting=self.waiting,
            tokens=self._batch.used_tokens,
        )

    def old_load(self, now_s: float) -> list[dict[str, Any]]:
        """Body of the deprecated /get_load."""
        row = {
            "dp_rank": 0,
            "num_reqs": self.running + self.waiting,
            "num_waiting_reqs": self.waiting,
            "num_tokens": self._batch.used_tokens,
            "num_pending_tokens": sum(len(one.ids) for one in self._batch.waiting),
            "ts_tic": now_s - self._ready_s,
        }
        return [row]

    def metrics_text(self, now_s: float) -> str:
        """Body of /metrics in the Prometheus text format."""
        return MetricsPage(self.resolved).text(
            self.counters,
            self._timings,
            running=self.running,
            waiting=self.waiting,
            tokens=self._batch.used_tokens,
            cached_pool=self._batch.cache.tokens,
            pid=self._pid,
        )

    def endpoints(self) -> dict[str, str | None]:
        """Paths this version answers -> the path it says to use instead (a deprecated name), or None."""
        return info.endpoints(self.resolved)

    def deprecation_line(self, path: str, now_s: float) -> str | None:
        """The warning that a call of this path causes; None for current paths."""
        newer = self.endpoints().get(path)
        return self.note_line(info.deprecation_text(path, newer), now_s) if newer else None

    def flush_cache(self, now_s: float) -> HttpReply:
        """POST /flush_cache: empties the prefix cache and the accept-length totals when nothing runs or waits."""
        if self.running or self.waiting:
            text = (
                "Cache not flushed because there are pending requests. "
                f"#queue-req: {self.waiting}, #running-req: {self.running}"
            )
            return HttpReply(400, "Flush cache failed.\n", (self.note_line(text, now_s, rank=True),))
        self._batch.cache.clear()
        self.counters.forget_acceptance()
        line = self.note_line("Cache flushed successfully!", now_s, rank=True)
        body = (
            "Cache flushed.\nPlease check backend logs for more details. "
            "(When there are running or waiting requests, the operation will not be performed.)\n"
        )
        return HttpReply(200, body, (line,) if says_info(self.resolved.args) else ())

    def access_line(self, method: str, path: str, status: int, now_s: float) -> str:
        """The uvicorn line of one answered call ("" when its level is off); also counts the call for the metrics."""
        self.counters.http_requests[(path, method)] += 1
        self.counters.http_responses[(path, method, status)] += 1
        if not says_access(self.resolved.args):
            return ""
        client = f"127.0.0.1:{self._rng.randrange(32768, 60999)}"
        said = _STATUS_WORDS.get(status, str(status))
        return self.note_line(f'INFO:     {client} - "{method} {path} HTTP/1.1" {said}', now_s)

    def note_line(self, text: str, now_s: float, *, rank: bool = False) -> str:
        """A log line of the launcher (or of rank 0) with this version's stamp."""
        return stamped(text, self.resolved, now_s, rank=rank)


def _refusal(message: str) -> HttpReply:
    return HttpReply(400, json.dumps({"error": {"message": message}}))
