"""speculators' data: `data_*.pt` with a list of states, `hs_*.safetensors` with [tokens, states, hidden].

The last of them is the target's last state, before its norm.
"""

from __future__ import annotations

import numpy as np

from specdoctor.drafter.dumps.dump import Dump, Sample, Stored, answer_of, split, state_of, tokens_of

STATES = "hidden_states"


def read(stored: Stored) -> Dump | None:
    """None without `hidden_states`."""
    found = stored.arrays.get(STATES)
    ids = stored.array("token_ids", "input_ids")
    if found is None or ids is None:
        return None
    tokens = tokens_of(stored, ids)
    if isinstance(found, list | tuple):
        parts = [np.asarray(part) for part in found]
    elif isinstance(found, np.ndarray) and found.ndim == 3:
        parts = [found[:, number] for number in range(found.shape[1])]
    else:
        raise stored.fault(f"{STATES} is neither a list of states nor [tokens, states, hidden]")
    if len(parts) < 2:
        raise stored.fault(f"{STATES} holds {len(parts)} state; the drafter's and the target's last are needed")
    states = [state_of(stored, part, len(tokens), f"{STATES}[{n}]") for n, part in enumerate(parts)]
    at, served = answer_of(stored, len(tokens))
    sample = Sample(
        name=stored.where.rsplit("/", 1)[-1],
        tokens=tokens,
        states=split(stored, np.concatenate(states[:-1], axis=1), len(states) - 1),
        answer_at=at,
        answer_tokens=served,
        last=states[-1],
        last_normed=False,
        unnamed=not stored.names,
    )
    return Dump(layout="speculators", samples=(sample,))
