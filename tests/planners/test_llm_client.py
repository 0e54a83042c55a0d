"""The client against a real HTTP server: forms, failures, pauses, budgets, answers without an end."""

from __future__ import annotations

import json

import pytest

from specdoctor.core.endpoint import Endpoint
from specdoctor.planners.llm_client import MOST_CHARACTERS, BudgetSpent, ModelClient
from specdoctor.planners.llm_proposals import schema
from tests.planners.asking import KEY, endpoint_of
from tests.planners.model_server import MODES, ModelServer, Reply, in_turn, proposing

ASKED = [{"role": "user", "content": "What do you propose?"}]
FINISH = proposing({"do": "finish"})


class Counting:
    """A clock that counts how long it was waited for."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def client_of(server: ModelServer, **more: object) -> tuple[ModelClient, Counting]:
    clock = Counting()
    return ModelClient(endpoint_of(server, **more), clock=clock, environment={"OPENAI_API_KEY": KEY}), clock


@pytest.mark.parametrize("missing", [(), ("tools",), ("tools", "schema"), ("stream",), ("tools", "schema", "stream")])
def test_a_server_is_asked_in_a_form_that_it_has(missing: tuple[str, ...]) -> None:
    with ModelServer(in_turn([FINISH]), offers=MODES - set(missing)) as server:
        client, _ = client_of(server)
        first = client.ask(ASKED, tokens_used=0, cost_used=0.0)
        refused = len(server.asked) - 1
        second = client.ask(ASKED, tokens_used=0, cost_used=0.0)
    assert json.loads(first.text) == json.loads(second.text) == {"proposals": [{"do": "finish"}]}
    assert len(server.asked) == refused + 2, "what it cannot do is tried once"
    assert first.counted == "reported"
    assert first.prompt_tokens > 0


def test_tokens_are_estimated_where_nobody_counts_them() -> None:
    with ModelServer(in_turn([FINISH]), offers=MODES - {"usage"}) as server:
        said = client_of(server)[0].ask(ASKED, tokens_used=0, cost_used=0.0)
    assert said.counted == "estimated"
    assert said.prompt_tokens > len(json.dumps(schema())) // 4, "what the tools take is counted"
    assert said.completion_tokens > 5


def test_it_waits_as_long_as_the_server_says_and_asks_again() -> None:
    with ModelServer(in_turn([Reply(status=429, retry_after_s=7), Reply(status=503), FINISH])) as server:
        client, clock = client_of(server)
        said = client.ask(ASKED, tokens_used=0, cost_used=0.0)
    assert json.loads(said.text)["proposals"]
    assert clock.slept == [7.0, 2.0]


@pytest.mark.parametrize(
    ("reply", "tries", "said"),
    [
        (Reply(status=500), 3, "InternalServerError"),
        (Reply(status=429, retry_after_s=10_000), 3, "RateLimitError"),
        (Reply(status=401, text="no such key"), 1, "AuthenticationError"),
        (Reply(status=403), 1, "PermissionDeniedError"),
    ],
)
def test_a_failure_is_told_and_not_repeated_for_ever(reply: Reply, tries: int, said: str) -> None:
    with ModelServer(in_turn([reply])) as server:
        client, clock = client_of(server)
        answer = client.ask(ASKED, tokens_used=0, cost_used=0.0)
    assert said in answer.error
    assert answer.text == ""
    assert len(server.asked) == tries
    assert sum(clock.slept) <= 60.0


def test_silence_ends_and_counts_as_spent() -> None:
    with ModelServer(in_turn([Reply(delay_s=0.4)])) as server:
        said = client_of(server, timeout_s=0.1)[0].ask(ASKED, tokens_used=0, cost_used=0.0)
    assert "APITimeoutError" in said.error
    assert said.prompt_tokens > 0


def test_nobody_there_is_told() -> None:
    endpoint = Endpoint(model="m", base_url="http://127.0.0.1:9/v1", timeout_s=1.0)
    said = ModelClient(endpoint, clock=Counting(), environment={}).ask(ASKED, tokens_used=0, cost_used=0.0)
    assert "APIConnectionError" in said.error


@pytest.mark.parametrize("reply", [Reply(text="word " * 20_000), Reply(text="word " * 200, endless=True)])
def test_an_answer_without_an_end_is_left(reply: Reply) -> None:
    with ModelServer(in_turn([reply])) as server:
        said = client_of(server)[0].ask(ASKED, tokens_used=0, cost_used=0.0)
    assert len(said.text) == MOST_CHARACTERS
    assert said.counted == "estimated"


def test_an_answer_that_breaks_off_raises_nothing() -> None:
    with ModelServer(in_turn([Reply(arguments="x" * 4000, cut=True)])) as server:
        streamed = client_of(server)[0].ask(ASKED, tokens_used=0, cost_used=0.0)
    assert 0 < len(streamed.text) < 4000
    with ModelServer(in_turn([Reply(arguments="x" * 4000, cut=True)]), offers=MODES - {"stream"}) as server:
        whole = client_of(server)[0].ask(ASKED, tokens_used=0, cost_used=0.0)
    assert whole.error


def test_budgets_are_kept_before_anything_is_sent() -> None:
    priced = {"price_in": 10.0, "price_out": 30.0, "max_cost": 0.05}
    with ModelServer(in_turn([FINISH])) as server:
        with pytest.raises(BudgetSpent, match="of 40000 tokens are used"):
            client_of(server)[0].ask(ASKED, tokens_used=39_000, cost_used=0.0)
        with pytest.raises(BudgetSpent, match=r"0\.02 of 0\.05 is spent"):
            client_of(server, **priced)[0].ask(ASKED, tokens_used=0, cost_used=0.02)
        assert server.asked == []
        assert client_of(server, **priced)[0].ask(ASKED, tokens_used=0, cost_used=0.0).text
