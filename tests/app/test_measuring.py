"""Figures from raw records: estimators, intervals, and what stays out."""

from __future__ import annotations

import pytest

from specdoctor.app.measuring import measure, traffic_measurement
from specdoctor.core.measurement import BenchPlan, BenchRecord, Measurement, Prompt, PromptSet, RequestRecord
from specdoctor.core.server import DecodeWindow, ServerRef, SpecSetting

CHAIN = SpecSetting(algorithm="EAGLE3", draft_steps=1, topk=1, draft_tokens=2)
SERVER = ServerRef(pid=1, start_ticks=1, port=1)
PROMPTS = PromptSet(name="p", digest="d" * 64, prompts=(Prompt(id="a", category="chat", text="x"),))


def request(
    number: int, *, cycles: int = 100, accepted: int = 60, cycle_s: float = 0.028, **other: object
) -> RequestRecord:
    base = RequestRecord(
        id=f"r{number}",
        prompt=f"p{number}",
        category="chat",
        ok=True,
        t_send=0.0,
        t_first=0.1,
        t_last=0.1 + cycles * cycle_s,
        chunks=cycles + 1,
        prompt_tokens=20,
        completion_tokens=1 + cycles + accepted,
        tokens_first_chunk=1,
        cached_tokens=0,
        verify_ct=cycles,
        correct_drafts=accepted,
        histogram=(cycles - accepted, accepted),
    )
    return base.model_copy(update=other)


def measured(requests: list[RequestRecord], spec: SpecSetting = CHAIN, concurrency: int = 1) -> Measurement:
    plan = BenchPlan(
        action="A1",
        server=SERVER,
        engine="sglang",
        model="m",
        prompt_set=PROMPTS,
        form="generate",
        concurrency=concurrency,
        requests=len(requests),
        warmup=1,
        max_new_tokens=200,
    )
    record = BenchRecord(action="A1", started_at=0.0, ended_at=9.0, warmed_up=True, requests=tuple(requests))
    return measure(measurement_id="M1", evidence="E1", launch="l", launch_key="k", spec=spec, plan=plan, record=record)


def test_identity_of_speed_accept_length_and_cycle() -> None:
    m = measured([request(i, cycle_s=0.028 + 0.0002 * i) for i in range(6)])
    assert m.accept_length is not None
    assert m.step is not None
    assert m.throughput is not None
    assert m.accept_length.value == pytest.approx(1.6)
    assert m.throughput.value == pytest.approx(1000 * m.accept_length.value / m.step.value, rel=1e-9)
    assert m.throughput.n == 6
    assert m.conditional[0].value == pytest.approx(0.6)


def test_surplus_drafts_of_the_last_step_count_for_the_accept_length_only() -> None:
    cut = request(0, completion_tokens=150)
    m = measured([cut, request(1)])
    assert m.accept_length is not None
    assert m.accept_length.value == pytest.approx(1.6)
    assert m.throughput is not None
    assert m.throughput.value == pytest.approx((149 + 160) / (2 * 2.8))


def test_failed_and_untimed_requests_are_counted_apart() -> None:
    broken = request(1, ok=False, error="HTTP 503")
    one_chunk = request(2, chunks=1, t_last=0.1)
    m = measured([request(0), request(3), broken, one_chunk])
    assert (m.requests, m.failed) == (2, 2)


def test_baseline_has_accept_length_one_and_a_step_per_token() -> None:
    plain = [
        request(
            i, completion_tokens=101, verify_ct=None, correct_drafts=None, histogram=None, t_last=0.1 + 1.1 + 0.01 * i
        )
        for i in range(3)
    ]
    m = measured(plain, SpecSetting())
    assert m.accept_length is not None
    assert m.accept_length.value == 1.0
    assert m.step is not None
    assert m.step.value == pytest.approx(1000 * (3.33 / 300), rel=1e-6)
    assert m.conditional == ()


def test_no_request_gives_no_figure() -> None:
    m = measured([])
    assert (m.throughput, m.step, m.requests) == (None, None, 0)


def test_many_clients_are_measured_together() -> None:
    m = measured([request(i) for i in range(4)], concurrency=4)
    assert m.throughput is not None
    assert m.throughput.value == pytest.approx(4 * 161 / 2.9)
    assert "all requests" in m.throughput.estimator


def window(**other: object) -> DecodeWindow:
    base = DecodeWindow(
        line=1,
        at=None,
        rank="",
        running=1,
        queue=0,
        tokens=50,
        accept_length=1.6,
        accept_rate=0.6,
        strict_rate=0.6,
        graph=True,
        throughput_tok_s=56.8,
        clean=True,
    )
    return base.model_copy(update=other)


def test_traffic_in_the_log_gives_figures_without_load() -> None:
    windows = [window(throughput_tok_s=56.8 + i / 10) for i in range(5)]
    windows += [window(clean=False, throughput_tok_s=0.4), window(tokens=0, accept_length=1.0)]
    m = traffic_measurement(
        measurement_id="M1", evidence="E1", launch="as found", launch_key="original", spec=CHAIN, windows=windows
    )
    assert m is not None
    assert m.source == "log"
    assert m.step is not None
    assert m.step.value == pytest.approx(1600 / 57.0, rel=1e-3)
    assert m.accept_length is not None
    assert m.accept_length.value == pytest.approx(1.6)
    assert m.requests == 6


def test_an_empty_log_gives_no_measurement() -> None:
    found = traffic_measurement(
        measurement_id="M1", evidence="E1", launch="l", launch_key="k", spec=CHAIN, windows=[window(running=0)]
    )
    assert found is None
