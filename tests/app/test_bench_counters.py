"""Acceptance between two scrapes of a server's counters, by any engine that counts drafts."""

from __future__ import annotations

import pytest

from specdoctor.app.bench_counters import acceptance
from specdoctor.core.measurement import BenchRecord


def scrape(prefix: str, drafts: int, accepted: tuple[int, ...]) -> str:
    rows = [f"{prefix}spec_decode_num_drafts_total {drafts}"]
    rows.append(f"{prefix}spec_decode_num_accepted_tokens_total {sum(accepted)}")
    name = f"{prefix}spec_decode_num_accepted_tokens_per_pos_total"
    return "\n".join([*rows, *(f'{name}{{position="{i}"}} {n}' for i, n in enumerate(accepted))]) + "\n"


@pytest.mark.parametrize("prefix", ["vllm:", "llamacpp:"])
def test_counters_are_differences(prefix: str) -> None:
    record = BenchRecord.model_construct(
        metrics_before=scrape(prefix, 100, (50, 20)), metrics_after=scrape(prefix, 300, (200, 95)), requests=()
    )
    found = acceptance(record)
    assert found.accept_length is not None
    assert found.accept_length.value == pytest.approx(1 + 225 / 200)
    assert [round(e.value, 4) for e in found.conditional] == [0.75, 0.5]


def test_a_restart_between_the_scrapes_is_seen() -> None:
    record = BenchRecord.model_construct(
        metrics_before=scrape("llamacpp:", 100, (50,)), metrics_after=scrape("llamacpp:", 3, (2,)), requests=()
    )
    assert acceptance(record).reset
