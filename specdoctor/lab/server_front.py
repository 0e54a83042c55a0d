"""The HTTP face of a practice server: which path answers what, keys, health, and the access lines."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from specdoctor.lab.engine_core import EngineCore
from specdoctor.lab.engine_types import GenRequest, HttpReply, Resolved
from specdoctor.lab.generate_api import BadCall, GenerateApi, error_answer, new_id
from specdoctor.lab.http_server import HttpAnswer, HttpRequest
from specdoctor.lab.openai_api import OpenAiApi, openai_error
from specdoctor.lab.server_requests import Refused, Requests, complete
from specdoctor.lab.step_loop import Clock, StepLoop

HEALTH_POLL_S = 1.0
Answer = Callable[[HttpRequest], Awaitable[HttpAnswer]]


class ServerFront:
    """Answers HTTP calls out of an engine core. Generation waits until `ready` is set, as it does during warm-up."""

    def __init__(
        self,
        core: EngineCore,
        steps: StepLoop,
        requests: Requests,
        resolved: Resolved,
        *,
        clock: Clock,
        write_line: Callable[[str], None],
        time_scale: float,
    ) -> None:
        self._core = core
        self._steps = steps
        self._requests = requests
        self._resolved = resolved
        self._clock = clock
        self._write_line = write_line
        self._time_scale = time_scale
        self.ready = asyncio.Event()
        self.closing = False
        incremental = any(resolved.args.get(name) for name in ("incremental_streaming_output", "stream_output"))
        self._generate = GenerateApi(requests, incremental=incremental)
        self._openai = OpenAiApi(requests, served_model=resolved.served_model_name)
        self._endpoints = core.endpoints()
        self._table = self._routes()

    def _routes(self) -> dict[str, tuple[frozenset[str], Answer]]:
        get, post, both = frozenset({"GET"}), frozenset({"POST"}), frozenset({"GET", "POST"})
        return {
            "/generate": (frozenset({"POST", "PUT"}), self._when_ready(self._generate.answer)),
            "/v1/completions": (post, self._when_ready(self._openai.completions)),
            "/v1/chat/completions": (post, self._when_ready(self._openai.chat)),
            "/v1/models": (get, self._value(self._core.models)),
            "/server_info": (get, self._value(lambda: self._core.server_info(self._clock.now()))),
            "/get_server_info": (get, self._value(lambda: self._core.server_info(self._clock.now()))),
            "/model_info": (get, self._value(self._core.model_info)),
            "/get_model_info": (get, self._value(self._core.model_info)),
            "/v1/loads": (get, self._value(lambda: self._core.loads(self._clock.now()))),
            "/get_load": (get, self._value(lambda: self._core.old_load(self._clock.now()))),
            "/health": (get, self._health),
            "/health_generate": (get, self._health_generate),
            "/ping": (get, self._health),
            "/ready": (get, self._is_ready),
            "/metrics": (get, self._metrics),
            "/flush_cache": (both, self._flush_cache),
            "/abort_request": (both, self._abort_request),
        }

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        """Answer one call."""
        path = request.path.rstrip("/") or "/"
        if not self._may_pass(request, path):
            return HttpAnswer.of_json({"error": "Unauthorized"}, status=401)
        known = self._table.get(path)
        if known is None or not self._offered(path):
            return HttpAnswer.of_json({"detail": "Not Found"}, status=404)
        methods, answer = known
        if request.method not in methods:
            return HttpAnswer.of_json({"detail": "Method Not Allowed"}, status=405)
        warning = self._core.deprecation_line(path, self._clock.now())
        if warning is not None:
            self._write_line(warning)
        try:
            return await answer(request)
        except BadCall as refusal:
            return openai_error(str(refusal)) if path.startswith("/v1/") else error_answer(str(refusal))
        except Refused as refusal:
            return _of_reply(refusal.reply, content_type="application/json")

    def note_answer(self, request: HttpRequest, status: int) -> None:
        """Write the access line when an answer begins."""
        with self._steps.lock:
            line = self._core.access_line(request.method, request.path, status, self._clock.now())
        if line:
            self._write_line(line)

    def _may_pass(self, request: HttpRequest, path: str) -> bool:
        key = self._resolved.api_key
        if key is None or path.startswith(("/health", "/metrics", "/ping", "/ready")):
            return True
        given = request.headers.get("authorization", "")
        return hmac.compare_digest(given.encode(), f"Bearer {key}".encode())

    def _offered(self, path: str) -> bool:
        if path == "/metrics":
            return self._resolved.metrics_enabled
        return path in self._endpoints

    def _when_ready(self, answer: Answer) -> Answer:
        async def waiting(request: HttpRequest) -> HttpAnswer:
            await self.ready.wait()
            return await answer(request)

        return waiting

    def _value(self, read: Callable[[], Any]) -> Answer:
        async def answer(request: HttpRequest) -> HttpAnswer:
            with self._steps.lock:
                value = read()
            return HttpAnswer.of_json(value)

        return answer

    async def _is_ready(self, request: HttpRequest) -> HttpAnswer:
        return HttpAnswer(status=200 if self._serving else 503, content_type=None)

    @property
    def _serving(self) -> bool:
        return self.ready.is_set() and not self.closing

    async def _health(self, request: HttpRequest) -> HttpAnswer:
        if self._serving and self._core.health_generates:
            return await self._health_generate(request)
        return await self._is_ready(request)

    async def _health_generate(self, request: HttpRequest) -> HttpAnswer:
        """Generate one token; the real one looks once a second whether the answer has come, so it takes that long."""
        if not self._serving:
            return HttpAnswer(status=503, content_type=None)
        check = GenRequest(id=f"HEALTH_CHECK_{new_id()}", prompt=(0,), max_new_tokens=1, health_check=True)
        await asyncio.gather(complete(self._requests, check), asyncio.sleep(HEALTH_POLL_S * self._time_scale))
        return HttpAnswer(content_type=None)

    async def _metrics(self, request: HttpRequest) -> HttpAnswer:
        with self._steps.lock:
            text = self._core.metrics_text(self._clock.now())
        return HttpAnswer(body=text.encode(), content_type="text/plain; version=0.0.4; charset=utf-8")

    async def _flush_cache(self, request: HttpRequest) -> HttpAnswer:
        with self._steps.lock:
            reply = self._core.flush_cache(self._clock.now())
        for line in reply.log_lines:
            self._write_line(line)
        return _of_reply(reply, content_type="text/plain; charset=utf-8")

    async def _abort_request(self, request: HttpRequest) -> HttpAnswer:
        try:
            body = request.json() if request.body else {}
        except ValueError as error:
            raise BadCall(f"There was an error parsing the body: {error}") from error
        self._requests.cut(None if body.get("abort_all") else str(body.get("rid") or ""))
        return HttpAnswer(content_type=None)


def _of_reply(reply: HttpReply, *, content_type: str) -> HttpAnswer:
    return HttpAnswer(status=reply.status, body=reply.body.encode(), content_type=content_type)
