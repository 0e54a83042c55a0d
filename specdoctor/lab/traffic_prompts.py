"""Prompts of the practice clients: the same for the same number, so that a prefix cache has something to find."""

from __future__ import annotations

import random

from specdoctor.lab.world import Traffic

_SUBJECTS = (
    "the harbour at dawn",
    "a slow river crossing",
    "how a clock keeps time",
    "the history of paper",
    "a letter to a neighbour",
    "the weather of the coast",
    "why bread rises",
    "a walk through the market",
)
_FILLER = "Explain each step in plain words and give one example that a careful reader could check by hand. "
_CODE = "def total(values):\n    result = 0\n    for value in values:\n        result += value\n    return result\n\n"
_CHARACTERS_PER_TOKEN = 4.6


def prompt(traffic: Traffic, number: int) -> str:
    """Prompt number `number` (taken modulo the distinct ones), about as long as the traffic says."""
    key = number % max(traffic.distinct_prompts, 1)
    rng = random.Random(f"traffic:{traffic.category}:{key}")
    length = int(traffic.prompt_tokens * rng.uniform(0.8, 1.2) * _CHARACTERS_PER_TOKEN)
    if traffic.category == "code":
        head, filler = f"# module {key}: complete the function below\n```python\n", _CODE
    else:
        head, filler = f"Question {key}: write about {rng.choice(_SUBJECTS)}. ", _FILLER
    return (head + filler * (length // len(filler) + 1))[: max(length, len(head))]
