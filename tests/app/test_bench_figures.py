"""The steady part of a load, and times that stay honest when a chunk holds several tokens."""

from __future__ import annotations

import pytest

from specdoctor.app.bench_figures import load_figures
from specdoctor.core.measurement import BenchPlan, Prompt, PromptSet, RequestRecord
from specdoctor.core.server import ServerRef


def plan(concurrency: int, **other: object) -> BenchPlan:
    prompts = PromptSet(name="p", digest="d", prompts=(Prompt(id="a", category="chat", text="x"),))
    made = BenchPlan(
        action="A",
        server=ServerRef(pid=1, start_ticks=1, port=1),
        engine="sglang",
        model="m",
        prompt_set=prompts,
        form="generate",
        concurrency=concurrency,
        requests=9,
        warmup=0,
        max_new_tokens=100,
    )
    return made.model_copy(update=other)


def answer(
    sent: float, *, first: float = 0.1, tokens: int = 101, per_chunk: int = 1, span: float = 1.0
) -> RequestRecord:
    """Tokens at an even pace after the first one."""
    return RequestRecord(
        id=f"{sent}",
        prompt="a",
        category="chat",
        ok=True,
        t_send=sent,
        t_first=sent + first,
        t_last=sent + first + span,
        chunks=1 + (tokens - 1) // per_chunk,
        completion_tokens=tokens,
        tokens_first_chunk=1,
        gap_p50_ms=1000.0 * span * per_chunk / (tokens - 1),
        gap_p99_ms=1000.0 * span * per_chunk / (tokens - 1),
    )


def test_the_steady_part_leaves_ramp_and_tail_out() -> None:
    """Two clients at 100 tok/s each; the last request runs alone, which an average over the wall would count."""
    both = [answer(t, first=0.0) for t in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)]
    alone = answer(3.0, first=0.0, span=5.0)
    steady = load_figures([*both, alone], plan(2)).steady
    assert steady is not None
    assert steady.value == pytest.approx(200.0, rel=0.03)
    assert "all 2 clients were busy" in steady.estimator


def test_no_steady_part_where_there_is_none() -> None:
    assert load_figures([answer(0.0), answer(0.0)], plan(2)).steady is None
    assert load_figures([answer(0.0), answer(1.2), answer(2.4)], plan(1)).steady is None
    assert load_figures([answer(0.0), answer(0.1), answer(0.2)], plan(2, rate_per_s=3.0)).steady is None


@pytest.mark.parametrize("per_chunk", [1, 4, 20])
def test_time_per_token_does_not_depend_on_chunks(per_chunk: int) -> None:
    found = load_figures([answer(0.0, per_chunk=per_chunk), answer(2.0, per_chunk=per_chunk)], plan(1))
    assert found.token_ms is not None
    assert found.token_ms.value == pytest.approx(10.0)
    assert found.gap_p50_ms == pytest.approx(10.0 * per_chunk)
    assert found.tokens_per_chunk == pytest.approx(per_chunk)


def test_accept_length_by_category() -> None:
    code = answer(0.0).model_copy(update={"category": "code", "verify_ct": 50, "correct_drafts": 75})
    assert load_figures([code, answer(1.0)], plan(1)).by_category == {"chat": None, "code": 2.5}
