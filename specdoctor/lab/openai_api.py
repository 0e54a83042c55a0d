"""The OpenAI-compatible endpoints of a practice server: completions and chat, whole and streamed."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from specdoctor.lab.engine_types import Finished, GenRequest
from specdoctor.lab.generate_api import BadCall, Sampling, new_id, read_json, read_sampling
from specdoctor.lab.http_server import HttpAnswer, HttpRequest
from specdoctor.lab.server_requests import Completion, Piece, Requests, complete_all

COMPLETION_NEW_TOKENS = 16
CHAT_NEW_TOKENS = 2048

Kind = Literal["chat", "text"]


def openai_error(message: str, *, status: int = 400) -> HttpAnswer:
    """The shape of errors on the /v1 endpoints."""
    body = {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": status}
    return HttpAnswer.of_json(body, status=status)


@dataclass(frozen=True)
class _Call:
    """One call: what to answer under, and how."""

    kind: Kind
    id: str
    model: str
    created: int
    stream: bool
    usage_in_stream: bool

    def object(self, *, chunk: bool) -> str:
        if self.kind == "text":
            return "text_completion"
        return "chat.completion.chunk" if chunk else "chat.completion"

    def head(self, *, chunk: bool) -> dict[str, Any]:
        return {"id": self.id, "object": self.object(chunk=chunk), "created": self.created, "model": self.model}


class OpenAiApi:
    """Answers /v1/completions and /v1/chat/completions."""

    def __init__(self, requests: Requests, *, served_model: str) -> None:
        self._requests = requests
        self._served_model = served_model

    async def completions(self, request: HttpRequest) -> HttpAnswer:
        """Answer one /v1/completions call. Raises BadCall, and Refused from the engine."""
        body = read_json(request)
        sampling = _sampling(body, default=COMPLETION_NEW_TOKENS)
        return await self._answer(self._call("text", body), _completion_prompts(body), sampling)

    async def chat(self, request: HttpRequest) -> HttpAnswer:
        """Answer one /v1/chat/completions call. Raises BadCall, and Refused from the engine."""
        body = read_json(request)
        sampling = _sampling(body, default=CHAT_NEW_TOKENS)
        return await self._answer(self._call("chat", body), [chat_prompt(body.get("messages"))], sampling)

    def _call(self, kind: Kind, body: Mapping[str, Any]) -> _Call:
        options = body.get("stream_options") or {}
        return _Call(
            kind=kind,
            id=new_id(),
            model=str(body.get("model") or self._served_model),
            created=int(time.time()),
            stream=bool(body.get("stream")),
            usage_in_stream=bool(options.get("include_usage")),
        )

    async def _answer(self, call: _Call, prompts: Sequence[str | tuple[int, ...]], sampling: Sampling) -> HttpAnswer:
        batch = [
            GenRequest(
                id=call.id if index == 0 and copy == 0 else new_id(),
                prompt=prompt,
                max_new_tokens=sampling.max_new_tokens,
                temperature=sampling.temperature,
                ignore_eos=sampling.ignore_eos,
                stream=call.stream,
            )
            for index, prompt in enumerate(prompts)
            for copy in range(sampling.copies)
        ]
        if call.stream:
            if len(batch) > 1:
                raise BadCall("Streaming of several answers is not offered by this server.")
            pieces = self._requests.pieces(batch[0])
            first = await anext(pieces)
            return HttpAnswer(content_type="text/event-stream; charset=utf-8", stream=_chunks(call, first, pieces))
        completions = await complete_all(self._requests, batch)
        body = call.head(chunk=False)
        body["choices"] = [_choice(call, index, completion) for index, completion in enumerate(completions)]
        body["usage"] = _usage([completion.finished for completion in completions])
        body["metadata"] = {"weight_version": "default"}
        return HttpAnswer.of_json(body)


def _sampling(body: Mapping[str, Any], *, default: int) -> Sampling:
    tokens = body.get("max_completion_tokens") or body.get("max_tokens")
    given = {name: body[name] for name in ("temperature", "top_p", "ignore_eos", "n") if body.get(name) is not None}
    return read_sampling({**given, "max_new_tokens": default if tokens is None else tokens})


def _completion_prompts(body: Mapping[str, Any]) -> list[str | tuple[int, ...]]:
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        return [prompt]
    if isinstance(prompt, list) and prompt:
        if all(isinstance(item, str) for item in prompt):
            return list(prompt)
        if all(type(item) is int for item in prompt):
            return [tuple(prompt)]
        if all(isinstance(item, list) and item and all(type(one) is int for one in item) for item in prompt):
            return [tuple(item) for item in prompt]
    raise BadCall("Prompt cannot be empty")


def chat_prompt(messages: object) -> str:
    """The messages under a plain template. Raises BadCall."""
    if not isinstance(messages, list) or not messages:
        raise BadCall("Messages cannot be empty.")
    parts = []
    for message in messages:
        if not isinstance(message, dict) or "role" not in message:
            raise BadCall("Each message needs a role.")
        parts.append(f"<|{message['role']}|>\n{_content_text(message.get('content'))}\n")
    return "".join(parts) + "<|assistant|>\n"


def _content_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def _ending(finished: Finished) -> tuple[str, Any]:
    return str(finished.reason["type"]), finished.reason.get("matched")


def _choice(call: _Call, index: int, completion: Completion) -> dict[str, Any]:
    reason, matched = _ending(completion.finished)
    choice: dict[str, Any] = {"index": index}
    if call.kind == "chat":
        message = {"role": "assistant", "content": completion.text, "reasoning_content": None, "tool_calls": None}
        choice["message"] = message
    else:
        choice["text"] = completion.text
    return {**choice, "logprobs": None, "finish_reason": reason, "matched_stop": matched}


def _usage(ends: Sequence[Finished]) -> dict[str, Any]:
    usages = [end.usage for end in ends]
    prompt = usages[0]["prompt_tokens"]
    completion = sum(usage["completion_tokens"] for usage in usages)
    return {
        "prompt_tokens": prompt if len(usages) == 1 else sum(usage["prompt_tokens"] for usage in usages),
        "total_tokens": sum(usage["prompt_tokens"] for usage in usages) + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
    }


async def _chunks(call: _Call, first: Piece, pieces: AsyncGenerator[Piece, None]) -> AsyncGenerator[bytes, None]:
    make = _chat_choice if call.kind == "chat" else _text_choice
    head = call.head(chunk=True)
    if call.kind == "chat":
        yield _event({**head, "choices": [_chat_choice("", role=True)]})
    finished: Finished | None = None
    async with contextlib.aclosing(pieces):
        for event in _events(head, first, make):
            yield event
        finished = first.finished
        if finished is None:
            async for piece in pieces:
                for event in _events(head, piece, make):
                    yield event
                finished = piece.finished
    assert finished is not None
    if call.usage_in_stream:
        yield _event({**head, "choices": [], "usage": _usage([finished])})
    yield b"data: [DONE]\n\n"


def _events(head: Mapping[str, Any], piece: Piece, make: Callable[..., dict[str, Any]]) -> list[bytes]:
    text = "".join(token.text for token in piece.tokens)
    events = [_event({**head, "choices": [make(text)]})] if text else []
    if piece.finished is not None:
        reason, matched = _ending(piece.finished)
        events.append(_event({**head, "choices": [make(None, reason=reason, matched=matched)]}))
    return events


def _chat_choice(
    text: str | None, *, role: bool = False, reason: str | None = None, matched: Any = None
) -> dict[str, Any]:
    delta: dict[str, Any] = {"reasoning_content": None}
    if role:
        delta["role"] = "assistant"
    if text is not None:
        delta["content"] = text
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason, "matched_stop": matched}


def _text_choice(text: str | None, *, reason: str | None = None, matched: Any = None) -> dict[str, Any]:
    return {"index": 0, "text": text or "", "logprobs": None, "finish_reason": reason, "matched_stop": matched}


def _event(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
