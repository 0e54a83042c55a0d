"""A drafter's tensors as lines: what a probe of its host lists of the headers and of the small tensors."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import accumulate

from specdoctor.drafter.safetensors import Tensor

TENSORS = "tensors.txt"
VALUES = "values.txt"
CUT = "..."
MOST_VALUES = 1 << 22


def tensors_listed(text: str) -> dict[str, Tensor]:
    """Name -> type and shape, from lines "NAME DTYPE [SHAPE]"; what is no such line is left out.

    Empty for a list that was cut ("..."): of a part of the names nobody can say what is missing.
    """
    found: dict[str, Tensor] = {}
    if CUT in text.splitlines():
        return found
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        dtype, _, shape = rest.partition(" ")
        try:
            sizes = json.loads(shape)
        except ValueError:
            continue
        if isinstance(sizes, list) and all(isinstance(size, int) for size in sizes):
            found[name] = Tensor(dtype=dtype, shape=tuple(sizes))
    return found


def values_listed(text: str) -> dict[str, tuple[float, ...]]:
    """Name -> values of a vocabulary map ("NAME runs 3*500 0 1*2": the first value, then differences).

    Of a norm ("NAME range LOW HIGH") these two values stand for all.
    """
    found: dict[str, tuple[float, ...]] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        form, _, words = rest.partition(" ")
        try:
            values = _runs(words) if form == "runs" else tuple(float(word) for word in words.split(" "))
        except ValueError:
            continue
        if values:
            found[name] = values
    return found


@lru_cache(maxsize=4)
def _runs(words: str) -> tuple[float, ...]:
    steps: list[int] = []
    for word in words.split(" "):
        step, _, count = word.partition("*")
        times = int(count or 1)
        if len(steps) + times > MOST_VALUES:
            raise ValueError("more values than any vocabulary has")
        steps += [int(step)] * times
    return tuple(accumulate(steps))
