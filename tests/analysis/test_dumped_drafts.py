"""Drafts counted by dumps of two engines: of one since the start, of two in between, stamps of time left out."""

from __future__ import annotations

import pytest

from specdoctor.analysis.dumped_drafts import counted_over, dumps_of
from specdoctor.core.material import Counters, Material


def dump(engine: str, where: str, tokens: float, drafts: float, accepted: tuple[float, ...]) -> Counters:
    name = f"{engine}:spec_decode_num"
    samples = {
        f"{engine}:generation_tokens_total": tokens,
        f"{name}_drafts_total": drafts,
        f"{name}_draft_tokens_total": drafts * len(accepted),
        f"{name}_accepted_tokens_total": sum(accepted),
    }
    for position, count in enumerate(accepted):
        samples[f'{name}_accepted_tokens_per_pos_total{{position="{position}"}}'] = count
        samples[f'{name}_accepted_tokens_per_pos_created{{position="{position}"}}'] = 1.79e9
    return Counters(where=where, engine=engine, samples=samples)


@pytest.mark.parametrize("engine", ["vllm", "llamacpp"])
def test_counts_since_the_start_and_between_two_dumps(engine: str) -> None:
    first, last = dump(engine, "a", 10.0, 20.0, (15.0, 5.0)), dump(engine, "b", 900.0, 120.0, (95.0, 45.0))
    whole = counted_over(dumps_of(Material(counters=(last,))))
    assert whole is not None
    assert (whole.accept_length, whole.per_position) == (1 + 140 / 120, (95 / 120, 45 / 120))
    span = counted_over(dumps_of(Material(counters=(last, first))))
    assert span is not None
    assert (span.accept_length, span.per_position) == (2.2, (0.8, 0.4))
