"""What two engines answered with a sound EAGLE-3 head, judged as an investigation would judge it.

vLLM 0.32.0's CPU build loses the text of sampled requests under speculation; llama.cpp build 11434 does not.
"""

from __future__ import annotations

import json
from pathlib import Path

from specdoctor.checks.losslessness import check
from specdoctor.core.answer_sets import AnswerKind, AnswerSet, GivenAnswer
from specdoctor.core.estimate import Estimate
from specdoctor.core.facts import Facts
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView

GIVEN: dict[str, list[str]] = json.loads(
    (Path(__file__).parents[1] / "data" / "answers-of-engines.json").read_text(encoding="utf-8")
)


def answers(
    kind: AnswerKind, texts: str, *, accept_length: float | None = None, cycles: int | None = None
) -> AnswerSet:
    length = None
    if accept_length is not None:
        length = Estimate(
            value=accept_length, low=accept_length, high=accept_length, unit="tokens/cycle", estimator="counters"
        )
    return AnswerSet(
        kind=kind,
        speculative=accept_length is not None,
        launch=texts,
        answers=tuple(GivenAnswer(prompt=f"p{i}", text=text) for i, text in enumerate(GIVEN[texts])),
        temperature=1.0 if kind == "sampled" else 0.0,
        accept_length=length,
        cycles=cycles,
    )


def judged(*sets: AnswerSet) -> tuple[Observation, ...]:
    view = ServerView.model_validate({"engine": "vllm", "state": "running"})
    return check.judge(Scene(view=view, facts=Facts(), complaints=("wrong-output",), answers=sets))


def test_vllm_loses_sampled_text_and_neither_drafter_nor_sampling_is_blamed() -> None:
    found = judged(
        answers("greedy", "vllm-0.32.0 eagle3", accept_length=3.07, cycles=169),
        answers("sampled", "vllm-0.32.0 eagle3 temperature 1", accept_length=1.0, cycles=504),
        answers("greedy", "vllm-0.32.0"),
        answers("greedy again", "vllm-0.32.0"),
        answers("sampled", "vllm-0.32.0 temperature 1"),
    )
    assert [(o.cause, o.stance) for o in found] == [("CORR-2", "supports"), ("SAMP-1", "refutes")]
    assert "accept length 1.00 over 504 cycles, greedily 3.07" in found[0].claim


def test_vllm_is_suspected_before_there_is_a_launch_to_compare_with() -> None:
    found = judged(
        answers("greedy", "vllm-0.32.0 eagle3", accept_length=3.07, cycles=169),
        answers("sampled", "vllm-0.32.0 eagle3 temperature 1", accept_length=1.0, cycles=504),
    )
    assert [(o.cause, o.stance) for o in found] == [("CORR-2", "suggests")]


def test_llamacpp_answers_as_without() -> None:
    found = judged(
        answers("greedy", "llamacpp-11434", accept_length=3.04, cycles=170),
        answers("sampled", "llamacpp-11434 eagle3 temperature 1", accept_length=3.04, cycles=170),
        answers("greedy", "llamacpp-11434"),
        answers("greedy again", "llamacpp-11434"),
        answers("sampled", "llamacpp-11434"),
    )
    assert [(o.cause, o.stance) for o in found] == [(None, "refutes"), ("CORR-2", "refutes")]
    assert "8 of 8 greedy answers are those without speculation" in found[0].claim
