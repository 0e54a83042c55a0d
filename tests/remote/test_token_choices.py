"""The two best tokens of each place, as the endpoints of each engine tell them."""

from __future__ import annotations

from typing import Any

import pytest

from specdoctor.remote.parts.one_request import Answer
from specdoctor.remote.parts.request_forms import request_for
from specdoctor.remote.parts.token_choices import choices_of

PLAN: dict[str, Any] = {
    "engine": "sglang", "form": "generate", "max_new_tokens": 8, "temperature": 0.0, "model": "m", "keep": "choices",
}  # fmt: skip

TOLD: dict[str, dict[str, Any]] = {
    "sglang": {
        "text": "Hi yo",
        "meta_info": {
            "completion_tokens": 2,
            "output_token_logprobs": [[-0.1, 17, "Hi"], [-0.6, 18, " yo"]],
            "output_top_logprobs": [[[-0.1, 17, "Hi"], [-2.6, 9, "Ho"]], [[-0.6, 18, " yo"], [-0.62, 4, " ye"]]],
        },
    },
    "completions": {
        "choices": [
            {
                "text": "Hi yo",
                "logprobs": {
                    "tokens": ["Hi", " yo"],
                    "token_logprobs": [-0.1, -0.6],
                    "top_logprobs": [{"Hi": -0.1, "Ho": -2.6}, {" yo": -0.6, " ye": -0.62}],
                },
            }
        ]
    },
    "chat": {
        "choices": [
            {
                "delta": {"content": "Hi yo"},
                "logprobs": {
                    "content": [
                        {"token": "Hi", "logprob": -0.1, "top_logprobs": [{"logprob": -0.1}, {"logprob": -2.6}]},
                        {"token": " yo", "logprob": -0.6, "top_logprobs": [{"logprob": -0.6}, {"logprob": -0.62}]},
                    ]
                },
            }
        ]
    },
    "llamacpp": {
        "content": "Hi yo",
        "completion_probabilities": [
            {"token": "Hi", "logprob": -0.1, "top_logprobs": [{"logprob": -0.1}, {"logprob": -2.6}]},
            {"token": " yo", "logprob": -0.6, "top_logprobs": [{"logprob": -0.6}, {"logprob": -0.62}]},
        ],
    },
}


@pytest.mark.parametrize("form", TOLD)
def test_the_gap_of_the_two_best_is_read(form: str) -> None:
    assert [text for text, _ in choices_of(TOLD[form])] == ["Hi", " yo"]
    assert [gap for _, gap in choices_of(TOLD[form])] == pytest.approx([2.5, 0.02])


def test_a_server_that_repeats_what_it_told_is_counted_once() -> None:
    answer, whole = Answer("choices"), TOLD["sglang"]
    first = {
        "text": "Hi",
        "meta_info": {k: v[:1] if isinstance(v, list) else 1 for k, v in whole["meta_info"].items()},
    }
    answer.take(first, 1.0)
    answer.take(whole, 2.0)
    answer.take({**whole, "meta_info": {**whole["meta_info"], "finish_reason": {"type": "length"}}}, 3.0)
    told = answer.told()
    assert [text for text, _ in told["choices"]] == ["Hi", " yo"]
    assert told["text"] == "Hi yo"


def test_text_is_kept_only_where_it_is_asked_for() -> None:
    answer = Answer()
    answer.take(TOLD["llamacpp"], 1.0)
    assert "text" not in answer.told()


@pytest.mark.parametrize(
    ("engine", "form", "key"),
    [
        ("sglang", "generate", "return_logprob"),
        ("llamacpp", "generate", "n_probs"),
        ("vllm", "generate", "logprobs"),
        ("vllm", "chat", "top_logprobs"),
    ],
)
def test_each_engine_is_asked_in_its_own_words(engine: str, form: str, key: str) -> None:
    plan = {**PLAN, "engine": engine, "form": form}
    assert key in request_for(plan, "Hi", {})[1]
    assert key not in request_for({**plan, "keep": "text"}, "Hi", {})[1]
