"""Requests under way in a practice server: from the HTTP handlers into the engine, and its tokens back to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specdoctor.lab.engine_types import Finished, GenRequest, HttpReply, StepResult, Token
from specdoctor.lab.step_loop import StepLoop


class Refused(Exception):
    """The engine refuses a request; `reply` is the answer to give."""

    def __init__(self, reply: HttpReply) -> None:
        super().__init__(reply.body)
        self.reply = reply


@dataclass(frozen=True)
class Piece:
    """What one step added to a request. `meta_info` is None unless the request streams or has ended."""

    tokens: tuple[Token, ...]
    meta_info: dict[str, Any] | None
    finished: Finished | None = None


class Requests:
    """Hands the pieces of each request to whoever waits for them. Lives in the event loop; steps come from a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[str, asyncio.Queue[Piece]] = {}
        self._steps: StepLoop | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    def run_on(self, steps: StepLoop) -> None:
        """Name the step loop that serves the requests."""
        self._steps = steps

    @property
    def ids(self) -> list[str]:
        return list(self._waiting)

    async def drained(self) -> None:
        """Returns when nothing is under way."""
        await self._idle.wait()

    def deliver(self, result: StepResult, metas: Mapping[str, dict[str, Any]]) -> None:
        """Take over what a step brought; called from the step loop's thread."""
        if result.deltas or result.finished:
            self._loop.call_soon_threadsafe(self._spread, result, metas)

    def _spread(self, result: StepResult, metas: Mapping[str, dict[str, Any]]) -> None:
        for name in {**result.deltas, **result.finished}:
            queue = self._waiting.get(name)
            if queue is None:
                continue
            end = result.finished.get(name)
            meta = end.meta_info if end is not None else metas.get(name)
            queue.put_nowait(Piece(result.deltas.get(name, ()), meta, end))

    async def pieces(self, request: GenRequest) -> AsyncGenerator[Piece, None]:
        """Submit, then yield what each step brings up to the end. Raises Refused.

        Leaving the iteration early aborts the request in the engine.
        """
        assert self._steps is not None
        queue: asyncio.Queue[Piece] = asyncio.Queue()
        self._waiting[request.id] = queue
        self._idle.clear()
        ended = False
        try:
            refusal = self._steps.submit(request)
            if refusal is not None:
                ended = True
                raise Refused(refusal)
            while not ended:
                piece = await queue.get()
                ended = piece.finished is not None
                yield piece
        finally:
            if not ended:
                self._steps.abort(request.id)
            self._forget(request.id)

    def cut(self, request_id: str | None) -> None:
        """End one request, or all (None), as POST /abort_request does."""
        assert self._steps is not None
        for name in [request_id] if request_id is not None else list(self._waiting):
            queue = self._waiting.get(name)
            if queue is None:
                continue
            meta = self._steps.abort(name)
            reason = {"type": "abort", "message": "AbortReq from the client", "status_code": None, "err_type": None}
            meta["finish_reason"] = reason
            queue.put_nowait(Piece((), meta, Finished(reason, meta)))

    def _forget(self, request_id: str) -> None:
        self._waiting.pop(request_id, None)
        if not self._waiting:
            self._idle.set()


@dataclass(frozen=True)
class Completion:
    """A whole answer."""

    text: str
    ids: tuple[int, ...]
    finished: Finished


async def complete(requests: Requests, request: GenRequest) -> Completion:
    """Run a request to its end. Raises Refused."""
    tokens: list[Token] = []
    finished: Finished | None = None
    async for piece in requests.pieces(request):
        tokens += piece.tokens
        finished = piece.finished
    assert finished is not None
    return Completion("".join(token.text for token in tokens), tuple(token.id for token in tokens), finished)


async def complete_all(requests: Requests, batch: Sequence[GenRequest]) -> list[Completion]:
    """Run several requests at once; the answers keep their order. Raises Refused when one is refused."""
    return list(await asyncio.gather(*(complete(requests, request) for request in batch)))
