"""What is planted on a real engine, and what an investigation must come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SLOW = "speculative decoding brings less than it should"
ONE_SPEED = "speculation does not speed it up"
LOST = "at temperature 1 the answers are garbage and no draft is accepted; greedy requests are fine"


@dataclass(frozen=True)
class Scenario:
    """One server: its target, the words after its model, and what must be found.

    `{models}` stands for the folder of the models. `causes` are the ids of which one must be the verdict's; none for a
    healthy server.
    """

    name: str
    words: str
    causes: tuple[str, ...] = ()
    target: str = "wide"
    symptom: str = SLOW


def speed_up(document: dict[str, Any]) -> str:
    """The gain or loss by speculation with its interval, as a run tells it; empty where it was not compared."""
    told = [c for c in document.get("comparisons") or [] if c.get("about") == "speculation"]
    return str(told[0].get("text") or "") if told and told[0].get("throughput_ratio_interval") else ""


def right(scenario: Scenario, word: str, proved: tuple[str, ...], explains: tuple[str, ...], gain: str) -> bool:
    """Whether what was planted was found, by evidence or as the explanation, and nothing else is said to explain it.

    A sound server must be told as healthy, with what speculation brings.
    """
    if not scenario.causes:
        return word == "healthy" and bool(gain)
    return bool({*proved, *explains} & set(scenario.causes)) and set(explains) <= set(scenario.causes)


LLAMACPP = (
    Scenario("eagle3", "-md {models}/eagle3.gguf --spec-type draft-eagle3 --spec-draft-n-max 3"),
    Scenario(
        "eagle3_aux_off1",
        "-md {models}/eagle3-aux-off1.gguf --spec-type draft-eagle3 --spec-draft-n-max 3",
        ("WIRE-1",),
    ),
    Scenario(
        "eagle3_aux_early",
        "-md {models}/eagle3-aux-early.gguf --spec-type draft-eagle3 --spec-draft-n-max 3",
        ("WIRE-1",),
    ),
    Scenario(
        "eagle3_aux_missing",
        "-md {models}/eagle3-aux-missing.gguf --spec-type draft-eagle3 --spec-draft-n-max 3",
        ("WIRE-1",),
    ),
    Scenario(
        "eagle3_d2t_zero",
        "-md {models}/eagle3-d2t-zero.gguf --spec-type draft-eagle3 --spec-draft-n-max 3",
        ("WIRE-3",),
    ),
    Scenario(
        "eagle3_untrained",
        "-md {models}/eagle3-untrained.gguf --spec-type draft-eagle3 --spec-draft-n-max 3",
        ("TRAIN-2",),
    ),
    Scenario(
        "draft_other_tokenizer",
        "-md {models}/draft-other-tokenizer.gguf --spec-type draft-simple --spec-draft-n-max 4",
        ("MIS-1",),
        symptom=ONE_SPEED,
    ),
    Scenario("eagle3_k12", "-md {models}/eagle3.gguf --spec-type draft-eagle3 --spec-draft-n-max 12", ("CFG-4",)),
    Scenario(
        "eagle3_no_spec_type",
        "-md {models}/eagle3.gguf --spec-draft-n-max 3",
        ("CFG-1", "CFG-2"),
        symptom=ONE_SPEED,
    ),
    Scenario(
        "eagle3_unpadded",
        "-md {models}/eagle3.gguf --spec-type draft-eagle3 --spec-draft-n-max 3",
        ("LOAD-5",),
        target="target",
        symptom="slower with speculation than without",
    ),
)


def _vllm(
    name: str, method: str, draft: str, tokens: int, *causes: str, target: str = "wide", symptom: str = SLOW
) -> Scenario:
    config = f'{{"method":"{method}","model":"{{models}}/{draft}","num_speculative_tokens":{tokens}}}'
    return Scenario(name, f"--speculative-config {config}", causes, target=target, symptom=symptom)


VLLM = (
    _vllm("eagle3", "eagle3", "eagle3", 3),
    _vllm("eagle3_aux_off1", "eagle3", "eagle3-aux-off1", 3, "WIRE-1"),
    _vllm("eagle3_aux_early", "eagle3", "eagle3-aux-early", 3, "WIRE-1"),
    _vllm("eagle3_aux_missing", "eagle3", "eagle3-aux-missing", 3, "WIRE-1"),
    _vllm("eagle3_d2t_zero", "eagle3", "eagle3-d2t-zero", 3, "WIRE-3"),
    _vllm("eagle3_untrained", "eagle3", "eagle3-untrained", 3, "TRAIN-2"),
    _vllm("draft_other_tokenizer", "draft_model", "draft-other-tokenizer", 4, "MIS-1"),
    _vllm("eagle3_k12", "eagle3", "eagle3", 12, "CFG-4"),
    _vllm("eagle3_temp1", "eagle3", "eagle3", 3, "CORR-2", "CORR-4", "VER-1", symptom=LOST),
)
