"""POST /generate: SGLang's own generation call, single and batched, whole and streamed."""

from __future__ import annotations

import contextlib
import json
import math
import uuid
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from specdoctor.lab.engine_types import GenRequest, Token
from specdoctor.lab.http_server import HttpAnswer, HttpRequest
from specdoctor.lab.server_requests import Completion, Piece, Requests, complete_all

DEFAULT_NEW_TOKENS = 128
DEFAULT_TEMPERATURE = 1.0


class BadCall(Exception):
    """A request that SGLang answers with status 400 and these words."""


def error_answer(message: str, *, status: int = 400) -> HttpAnswer:
    """The shape of errors on the native endpoints."""
    return HttpAnswer.of_json({"error": {"message": message}}, status=status)


@dataclass(frozen=True)
class Sampling:
    """The sampling parameters that matter to the practice engine."""

    max_new_tokens: int
    temperature: float
    ignore_eos: bool
    copies: int = 1
    structured: bool = False


def read_sampling(given: Mapping[str, Any]) -> Sampling:
    """Check sampling parameters. Raises BadCall with SGLang's own words."""
    temperature = given.get("temperature")
    if temperature is None:
        temperature = DEFAULT_TEMPERATURE
    if not _is_number(temperature) or not math.isfinite(temperature) or temperature < 0:
        raise BadCall(f"temperature must be a non-negative finite number, got {temperature}.")
    new_tokens = given.get("max_new_tokens")
    if new_tokens is None:
        new_tokens = DEFAULT_NEW_TOKENS
    if not isinstance(new_tokens, int) or isinstance(new_tokens, bool) or new_tokens < 0:
        raise BadCall(f"max_new_tokens must be at least 0, got {new_tokens}.")
    top_p = given.get("top_p", 1.0)
    if not _is_number(top_p) or not 0.0 < top_p <= 1.0:
        raise BadCall(f"top_p must be in (0, 1], got {top_p}.")
    return Sampling(
        max_new_tokens=new_tokens,
        temperature=float(temperature),
        ignore_eos=bool(given.get("ignore_eos", False)),
        copies=int(given.get("n") or 1),
        structured=bool(given.get("json_schema")),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def new_id() -> str:
    return uuid.uuid4().hex


def read_json(request: HttpRequest) -> dict[str, Any]:
    """The body as a mapping. Raises BadCall."""
    try:
        body = request.json()
    except ValueError as error:
        raise BadCall(f"There was an error parsing the body: {error}") from error
    if not isinstance(body, dict):
        raise BadCall("Input should be a valid dictionary")
    return body


class GenerateApi:
    """Answers /generate. `incremental` servers stream only what is new in each chunk."""

    def __init__(self, requests: Requests, *, incremental: bool) -> None:
        self._requests = requests
        self._incremental = incremental

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """Answer one call. Raises BadCall, and Refused from the engine."""
        body = read_json(request)
        batch, is_batch = _read_batch(body)
        if body.get("stream"):
            if is_batch:
                raise BadCall("Streaming of batches is not offered by this server.")
            return HttpAnswer(content_type="text/event-stream; charset=utf-8", stream=await self._started(batch[0]))
        completions = await complete_all(self._requests, batch)
        values = [_whole(completion) for completion in completions]
        return HttpAnswer.of_json(values if is_batch else values[0])

    async def _started(self, request: GenRequest) -> AsyncGenerator[bytes, None]:
        """Wait for the first piece, so that a refusal is still a proper answer."""
        pieces = self._requests.pieces(request)
        first = await anext(pieces)
        return self._chunks(first, pieces, logprobs=request.logprobs)

    async def _chunks(
        self, first: Piece, pieces: AsyncGenerator[Piece, None], *, logprobs: bool
    ) -> AsyncGenerator[bytes, None]:
        stream = _StreamText(incremental=self._incremental, logprobs=logprobs)
        async with contextlib.aclosing(pieces):
            yield stream.chunk(first)
            if first.finished is None:
                async for piece in pieces:
                    yield stream.chunk(piece)
        yield b"data: [DONE]\n\n"


class _StreamText:
    """Builds the chunks of one stream; text and ids grow as encoded strings, since every chunk repeats them."""

    def __init__(self, *, incremental: bool, logprobs: bool = False) -> None:
        self._incremental = incremental
        self._logprobs = logprobs
        self._told: list[Token] = []
        self._text = ""
        self._ids = ""

    def chunk(self, piece: Piece) -> bytes:
        text = json.dumps("".join(token.text for token in piece.tokens), ensure_ascii=False)[1:-1]
        ids = ",".join(str(token.id) for token in piece.tokens)
        if self._incremental:
            self._text, self._ids = text, ids
        else:
            self._text += text
            self._ids += ("," if self._ids and ids else "") + ids
        meta = json.dumps({**(piece.meta_info or {}), **self._probabilities(piece)}, separators=(",", ":"))
        return f'data: {{"text":"{self._text}","output_ids":[{self._ids}],"meta_info":{meta}}}\n\n'.encode()

    def _probabilities(self, piece: Piece) -> dict[str, Any]:
        """The log-probability of each token so far and of the two best at its place, where they were asked for."""
        if not self._logprobs:
            return {}
        self._told = [*([] if self._incremental else self._told), *piece.tokens]
        chosen = [[-0.1, token.id, token.text] for token in self._told]
        tops = [[one, [-0.1 - token.gap, 0, ""]] for one, token in zip(chosen, self._told, strict=True)]
        return {"output_token_logprobs": chosen, "output_top_logprobs": tops}


def _whole(completion: Completion) -> dict[str, Any]:
    return {"text": completion.text, "output_ids": completion.ids, "meta_info": completion.finished.meta_info}


def _read_batch(body: Mapping[str, Any]) -> tuple[list[GenRequest], bool]:
    """The requests of a call, and whether the answer is a list. Raises BadCall."""
    prompts, is_batch = _read_prompts(body)
    given = body.get("sampling_params") or {}
    per_prompt = given if isinstance(given, list) else [given] * len(prompts)
    if len(per_prompt) != len(prompts):
        raise BadCall("The length of sampling_params should be equal to the batch size.")
    names = body.get("rid")
    batch = []
    for index, (prompt, parameters) in enumerate(zip(prompts, per_prompt, strict=True)):
        sampling = read_sampling(parameters)
        is_batch = is_batch or sampling.copies > 1
        for copy in range(sampling.copies):
            own = names[index] if isinstance(names, list) and index < len(names) else names
            name = own if isinstance(own, str) and copy == 0 and (len(prompts) == 1 or own != names) else new_id()
            batch.append(
                GenRequest(
                    id=name,
                    prompt=prompt,
                    max_new_tokens=sampling.max_new_tokens,
                    temperature=sampling.temperature,
                    ignore_eos=sampling.ignore_eos,
                    stream=bool(body.get("stream")),
                    logprobs=bool(body.get("return_logprob")),
                    structured=sampling.structured,
                )
            )
    return batch, is_batch


def _read_prompts(body: Mapping[str, Any]) -> tuple[list[str | tuple[int, ...]], bool]:
    text, ids = body.get("text"), body.get("input_ids")
    if (text is None) == (ids is None):
        raise BadCall("Either text, input_ids or input_embeds should be provided.")
    if isinstance(text, str):
        return [text], False
    if isinstance(text, list) and text and all(isinstance(item, str) for item in text):
        return list(text), True
    if isinstance(ids, list) and _is_ids(ids):
        return [tuple(ids)], False
    if isinstance(ids, list) and ids and all(_is_ids(item) for item in ids):
        return [tuple(item) for item in ids], True
    raise BadCall("Either text, input_ids or input_embeds should be provided.")


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) is int and item >= 0 for item in value)
