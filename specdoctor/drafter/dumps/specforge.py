"""SpecForge's offline data: one file a sequence, the captured states side by side, the last state after its norm."""

from __future__ import annotations

from specdoctor.drafter.dumps.dump import Dump, Sample, Stored, answer_of, split, state_of, tokens_of

AUX, LAST, IDS = "aux_hidden_state", "hidden_state", "input_ids"


def read(stored: Stored) -> Dump | None:
    """None without `aux_hidden_state`. The number of states is told by the width of the last one."""
    aux, ids = stored.array(AUX), stored.array(IDS)
    if aux is None or ids is None:
        return None
    tokens = tokens_of(stored, ids)
    joined = state_of(stored, aux, len(tokens), AUX)
    found = stored.array(LAST)
    last = None if found is None else state_of(stored, found, len(tokens), LAST)
    parts = joined.shape[1] // last.shape[1] if last is not None and last.shape[1] else len(stored.names) or 3
    if parts < 1 or joined.shape[1] % parts:
        raise stored.fault(f"{AUX} is {joined.shape[1]} wide, which is not {parts} states")
    at, served = answer_of(stored, len(tokens))
    sample = Sample(
        name=stored.where.rsplit("/", 1)[-1],
        tokens=tokens,
        states=split(stored, joined, parts),
        answer_at=at,
        answer_tokens=served,
        last=last,
        last_normed=True,
        unnamed=not stored.names,
    )
    return Dump(layout="SpecForge", samples=(sample,))
