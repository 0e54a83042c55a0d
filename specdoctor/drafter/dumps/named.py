"""Arrays that name their states: what the export program writes, and one sequence as anybody can store it.

Of several sequences each array's name begins with its number: `0.tokens`, `0.out(2)`, `0.answer` (where it begins and
how many tokens were served), `0.greedy` (the target's first choice for each index). The target's
`embed_tokens.weight` and `lm_head.weight` stand beside them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from specdoctor.drafter.alone.arrays import Table
from specdoctor.drafter.dumps.dump import Dump, Sample, Stored, answer_of, state_of, tokens_of
from specdoctor.drafter.states import entry_of

TOKENS, ANSWER, GREEDY = "tokens", "answer", "greedy"
EMBEDDING, HEAD = "embed_tokens.weight", "lm_head.weight"


def read(stored: Stored) -> Dump | None:
    """None when no array is called `tokens`."""
    prefixes = [name.removesuffix(TOKENS) for name in stored.arrays if name == TOKENS or name.endswith(f".{TOKENS}")]
    if not prefixes:
        return None
    ordered = sorted(prefixes, key=lambda p: (len(p), p))
    embedding, head = stored.array(EMBEDDING), stored.array(HEAD)
    return Dump(
        layout="named states",
        samples=tuple(_sample(stored, prefix) for prefix in ordered),
        embedding=None if embedding is None else Table(embedding),
        head=None if head is None else Table(head),
    )


def _sample(stored: Stored, prefix: str) -> Sample:
    own = Stored(where=stored.where, arrays=_under(stored, prefix), names=stored.names)
    tokens = tokens_of(own, np.asarray(own.arrays[TOKENS]))
    count = len(tokens)
    at, served = answer_of(own, count)
    if (answer := own.array(ANSWER)) is not None and answer.size == 2:
        at, served = (int(value) for value in answer.ravel())
    if not 1 <= at < count or not 1 <= served <= count - at:
        raise stored.fault(f"{prefix}answer says [{at}, {served}] of a text of {count} tokens")
    greedy = own.array(GREEDY)
    states = {}
    for name, array in own.arrays.items():
        if _is_state(name) and isinstance(array, np.ndarray):
            states[name] = state_of(own, array, count, name)
    return Sample(
        name=prefix.rstrip(".") or "0",
        tokens=tokens,
        states=states,
        answer_at=at,
        answer_tokens=served,
        greedy=None if greedy is None else tokens_of(own, greedy),
    )


def _under(stored: Stored, prefix: str) -> dict[str, Any]:
    return {name[len(prefix) :]: array for name, array in stored.arrays.items() if name.startswith(prefix)}


def _is_state(name: str) -> bool:
    try:
        entry_of(name)
    except ValueError:
        return False
    return True
