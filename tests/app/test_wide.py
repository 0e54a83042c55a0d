"""Many short answers at once: the step that is taken from them, and when none is."""

from __future__ import annotations

import pytest

from specdoctor.analysis.interval import Estimate
from specdoctor.app.wide import wide_figures, wide_plan
from specdoctor.core.measurement import BenchPlan, BenchRecord, Measurement, Prompt, PromptSet, RequestRecord
from specdoctor.core.server import DecodeWindow, ServerRef, SpecSetting

CLIENTS = 8
PLAN = wide_plan(
    BenchPlan(
        action="A1",
        server=ServerRef(pid=1, start_ticks=1, port=30000),
        engine="sglang",
        model="m",
        prompt_set=PromptSet(name="mixed", digest="0" * 8, prompts=(Prompt(id="p", category="chat", text="hello"),)),
        form="generate",
        concurrency=CLIENTS,
        requests=12,
        warmup=2,
        max_new_tokens=160,
        own_command=("mine",),
    )
)
MEASURED = Measurement(
    id="M1", launch="off", launch_key="k", spec=SpecSetting(), concurrency=CLIENTS, source="bench", requests=16
)


def record(*, at_once: int = CLIENTS, gap_ms: float = 12.0) -> BenchRecord:
    """Rounds of `at_once` requests that decode side by side for a second."""
    requests = tuple(
        RequestRecord(
            id=str(i),
            prompt="p",
            category="chat",
            ok=True,
            t_first=float(i // at_once),
            t_last=i // at_once + 0.9,
            chunks=64,
            completion_tokens=64,
            gap_p50_ms=gap_ms + 0.01 * (i % 3),
        )
        for i in range(PLAN.requests)
    )
    return BenchRecord(action="A1", started_at=0.0, ended_at=3.0, warmed_up=True, requests=requests)


def window(running: int, *, graph: bool) -> DecodeWindow:
    return DecodeWindow(
        line=1,
        at=None,
        rank="",
        running=running,
        queue=0,
        tokens=100,
        accept_length=None,
        accept_rate=None,
        strict_rate=None,
        graph=graph,
        throughput_tok_s=500.0,
        clean=True,
    )


def taken(told: dict[str, object]) -> Estimate | None:
    step = told["between_chunks"]
    assert step is None or isinstance(step, Estimate)
    return step


def test_answers_are_short_each_client_asks_twice_and_the_users_own_benchmark_stays_out() -> None:
    assert (PLAN.requests, PLAN.max_new_tokens, PLAN.own_command) == (16, 64, ())


def test_the_step_is_the_median_between_chunks_under_a_key_of_its_own() -> None:
    told = wide_figures(MEASURED, PLAN, record(), [window(CLIENTS, graph=True)])
    step = taken(told)
    assert step is not None
    assert step.value == pytest.approx(12.01, abs=0.01)
    assert step.n == 16
    assert (told["source"], told["launch_key"]) == ("wide", "k, short answers")


@pytest.mark.parametrize(
    ("measured", "made", "windows", "why"),
    [
        (MEASURED, record(at_once=4), [], "4 of 8 clients"),
        (MEASURED.model_copy(update={"flags": ("client near its own limit",)}), record(), [], "client near"),
        (MEASURED, record(), [window(CLIENTS, graph=False)], "without a CUDA graph"),
        (MEASURED, record().model_copy(update={"stopped": "by hand"}), [], "nothing could be timed"),
    ],
)
def test_no_step_where_the_load_was_not_one_forward_of_so_many(
    measured: Measurement, made: BenchRecord, windows: list[DecodeWindow], why: str
) -> None:
    told = wide_figures(measured, PLAN, made, windows)
    assert taken(told) is None
    flags = told["flags"]
    assert isinstance(flags, tuple)
    assert why in flags[-1]
