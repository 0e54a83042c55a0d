"""One question to an OpenAI-compatible server: budget first, then the request, again after a pause where that helps.

Servers differ in what they can do: tool calls, JSON by schema, streaming. What one refuses is left out from then on.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from specdoctor.core.clean import one_line
from specdoctor.core.endpoint import Endpoint
from specdoctor.core.model import Frozen
from specdoctor.core.operations import Clock
from specdoctor.core.redact import redact
from specdoctor.planners.llm_proposals import schema

if TYPE_CHECKING:
    from openai import OpenAI

Message = Mapping[str, str]
TOOL = "propose"
MOST_TRIES = 3
PAUSES_S = (1.0, 2.0)
"""Before the second and the third try, where the server names no time of its own."""
LONGEST_PAUSE_S = 30.0
MOST_CHARACTERS = 16_000
"""Of an answer; then the connection is closed. A longer one cannot be proposals (heuristic)."""
CHARACTERS_A_TOKEN = 3
"""A cautious estimate for JSON and English, where a server does not count."""
_NO_KEY = "none"


class Said(Frozen):
    """What came of a question, and what it took; `error` where there is no answer."""

    text: str = ""
    error: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    counted: Literal["reported", "estimated"] = "reported"
    duration_s: float = 0.0


class BudgetSpent(Exception):
    """The next question could exceed the run's tokens or money; it was not asked."""


class ModelClient:
    """Asks the model of an endpoint. It remembers what the server cannot do, and nothing else."""

    def __init__(self, endpoint: Endpoint, *, clock: Clock, environment: Mapping[str, str] | None = None) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._key = (os.environ if environment is None else environment).get(endpoint.key_env) or _NO_KEY
        self._form: Literal["tools", "schema", "text"] = "tools"
        self._streams = True
        self._limit = "max_tokens"
        self._fixed = True
        self._client: OpenAI | None = None

    def ask(self, messages: Sequence[Message], *, tokens_used: int, cost_used: float) -> Said:
        """The answer, or why there is none. Raises BudgetSpent before anything is sent."""
        began = time.monotonic()
        lost = 0
        error = ""
        for number in range(MOST_TRIES):
            self._afford(messages, tokens_used + lost, cost_used)
            said, again_s = self._tried(messages)
            if again_s is None:
                break
            error = said.error
            lost += said.prompt_tokens + said.completion_tokens
            if number + 1 < MOST_TRIES:
                self._clock.sleep(min(max(again_s, PAUSES_S[number]), LONGEST_PAUSE_S))
        else:
            said = Said(error=f"{error} ({MOST_TRIES} tries)")
        took = time.monotonic() - began
        if lost:
            said = said.model_copy(update={"prompt_tokens": said.prompt_tokens + lost, "counted": "estimated"})
        return said.model_copy(update={"duration_s": took})

    def _afford(self, messages: Sequence[Message], tokens_used: int, cost_used: float) -> None:
        wanted, limit = self._estimated(messages), self._endpoint.max_answer_tokens
        budget = self._endpoint.max_tokens
        if tokens_used + wanted + limit > budget:
            raise BudgetSpent(f"{tokens_used} of {budget} tokens are used, the next question may take {wanted + limit}")
        most, cost = self._endpoint.max_cost, self._endpoint.cost(wanted, limit)
        if most is not None and cost is not None and cost_used + cost > most:
            raise BudgetSpent(f"{cost_used:.4g} of {most:.4g} is spent, the next question may cost {cost:.4g}")

    def _estimated(self, messages: Sequence[Message]) -> int:
        sent = sum(len(m["content"]) for m in messages)
        return (sent + (0 if self._form == "text" else len(json.dumps(schema())))) // CHARACTERS_A_TOKEN + 1

    def _tried(self, messages: Sequence[Message]) -> tuple[Said, float | None]:
        """One try; beside it the seconds to wait before another one may help, None where none is needed."""
        import openai

        while True:
            try:
                return self._once(messages), None
            except (openai.RateLimitError, openai.InternalServerError) as error:
                return Said(error=_told(error)), _pause_s(error.response.headers)
            except (openai.BadRequestError, openai.UnprocessableEntityError, openai.NotFoundError) as error:
                if not self._left_out(error.message.lower()):
                    return Said(error=_told(error)), None
            except openai.APIStatusError as error:
                return Said(error=_told(error)), None
            except (openai.OpenAIError, ConnectionError, ValueError) as error:
                # What was sent may have been counted there although nothing came back.
                return Said(error=_told(error), prompt_tokens=self._estimated(messages), counted="estimated"), 0.0

    def _left_out(self, refusal: str) -> bool:
        """Whether the server said no to something that can be left out; it is left out from now on."""
        if "max_completion_tokens" in refusal and self._limit == "max_tokens":
            self._limit = "max_completion_tokens"
        elif "temperature" in refusal and self._fixed:
            self._fixed = False
        elif "stream" in refusal and self._streams:
            self._streams = False
        elif self._form == "tools":
            self._form = "schema"
        elif self._form == "schema":
            self._form = "text"
        else:
            return False
        return True

    def _once(self, messages: Sequence[Message]) -> Said:
        completions: Any = self._opened().chat.completions
        options: dict[str, Any] = {self._limit: self._endpoint.max_answer_tokens}
        if self._fixed:
            options["temperature"] = 0.0
        if self._form == "tools":
            function = {"name": TOOL, "description": "Propose what to do next.", "parameters": schema()}
            options["tools"] = [{"type": "function", "function": function}]
            options["tool_choice"] = {"type": "function", "function": {"name": TOOL}}
        elif self._form == "schema":
            options["response_format"] = {"type": "json_schema", "json_schema": {"name": TOOL, "schema": schema()}}
        given = {"model": self._endpoint.model, "messages": list(messages), **options}
        if not self._streams:
            answer = completions.create(**given)
            return self._counted(messages, _text_of(answer), getattr(answer, "usage", None))
        with completions.create(**given, stream=True, stream_options={"include_usage": True}) as stream:
            return self._streamed(messages, stream)

    def _streamed(self, messages: Sequence[Message], stream: Any) -> Said:
        """What comes in pieces, as far as it can be proposals, and as long as the time-out of a whole answer."""
        until = time.monotonic() + self._endpoint.timeout_s
        pieces: list[str] = []
        arguments: list[str] = []
        length, usage = 0, None
        for chunk in stream:
            usage = getattr(chunk, "usage", None) or usage
            for choice in (chunk.choices or [])[:1]:
                pieces.append(choice.delta.content or "")
                calls = choice.delta.tool_calls or []
                arguments += [c.function.arguments or "" for c in calls if c.function is not None]
                length += len(pieces[-1]) + sum(len(c.function.arguments or "") for c in calls if c.function)
            if length > MOST_CHARACTERS or time.monotonic() > until:
                break
        return self._counted(messages, "".join(arguments) or "".join(pieces), usage)

    def _counted(self, messages: Sequence[Message], text: str, usage: Any) -> Said:
        """The answer with its tokens: as the server counted them, else as its length says."""
        told = (getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None))
        text = text[:MOST_CHARACTERS]
        if all(isinstance(n, int) and 0 <= n < 10**9 for n in told):
            return Said(text=text, prompt_tokens=cast(int, told[0]), completion_tokens=cast(int, told[1]))
        answer = len(text) // CHARACTERS_A_TOKEN + 1
        return Said(text=text, prompt_tokens=self._estimated(messages), completion_tokens=answer, counted="estimated")

    def _opened(self) -> OpenAI:
        if self._client is None:
            import openai

            self._client = openai.OpenAI(
                api_key=self._key,
                base_url=self._endpoint.base_url,
                max_retries=0,
                timeout=self._endpoint.timeout_s,
            )
        return self._client


def _text_of(answer: Any) -> str:
    """The arguments of the tool call, else the text; empty where an answer has neither."""
    choices = getattr(answer, "choices", None) or []
    message = getattr(choices[0], "message", None) if choices else None
    calls = getattr(message, "tool_calls", None) or []
    arguments = "".join(c.function.arguments or "" for c in calls if getattr(c, "function", None) is not None)
    return arguments or getattr(message, "content", None) or ""


def _told(error: Exception) -> str:
    """A failure in one line: its kind and what the server said, without secrets."""
    return redact(one_line(f"{type(error).__name__}: {error}"))[:200]


def _pause_s(headers: Mapping[str, str]) -> float:
    try:
        return max(float(headers.get("retry-after", "0")), 0.0)
    except ValueError:
        return 0.0
