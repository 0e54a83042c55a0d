"""The model server of the tests speaks the protocol as the real client understands it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.planners.model_server import MODES, ModelServer, Reply, in_turn, proposing

if TYPE_CHECKING:
    import openai

TOOLS: Any = [{"type": "function", "function": {"name": "propose", "parameters": {"type": "object"}}}]
HELLO: Any = [{"role": "user", "content": "hello"}]


def client(server: ModelServer) -> openai.OpenAI:
    import openai  # late: each process of a test run would load it only to list the tests

    return openai.OpenAI(base_url=server.url, api_key="sk-test", max_retries=0, timeout=5.0)


def test_whole_and_streamed_answers_are_the_same() -> None:
    with ModelServer(in_turn([proposing({"do": "finish", "why": "x" * 2000})])) as server, client(server) as model:
        whole = model.chat.completions.create(model="m", messages=HELLO, tools=TOOLS)
        call: Any = (whole.choices[0].message.tool_calls or [])[0]
        stream: Any = model.chat.completions.create(
            model="m", messages=HELLO, tools=TOOLS, stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)
    pieces = [c.function.arguments for x in chunks if x.choices for c in x.choices[0].delta.tool_calls or []]
    assert "".join(pieces) == call.function.arguments
    assert len(pieces) > 4
    assert whole.usage is not None
    assert chunks[-1].usage == whole.usage
    assert server.asked[0].headers["authorization"] == "Bearer sk-test"


def test_what_it_does_not_offer_is_refused() -> None:
    import openai

    with ModelServer(in_turn([Reply(text="{}")]), offers=MODES - {"tools"}) as server, client(server) as model:
        with pytest.raises(openai.BadRequestError, match="tools are not supported"):
            model.chat.completions.create(model="m", messages=HELLO, tools=TOOLS)
        assert model.chat.completions.create(model="m", messages=HELLO).choices[0].message.content == "{}"


def test_failures_are_told_with_their_status() -> None:
    import openai

    replies = [Reply(status=429, retry_after_s=7), Reply(status=503), Reply(text="well")]
    with ModelServer(in_turn(replies)) as server, client(server) as model:
        with pytest.raises(openai.RateLimitError) as caught:
            model.chat.completions.create(model="m", messages=HELLO)
        assert caught.value.response.headers["retry-after"] == "7"
        with pytest.raises(openai.InternalServerError):
            model.chat.completions.create(model="m", messages=HELLO)
        assert model.chat.completions.create(model="m", messages=HELLO).choices[0].message.content == "well"
