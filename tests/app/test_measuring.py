"""Figures from raw records: estimators, intervals, and what stays out."""

from __future__ import annotations

import pytest

from specdoctor.app.measuring import measure, traffic_measurement
from specdoctor.core.draft_counts import DraftCounts
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


def measured(
    requests: list[RequestRecord], spec: SpecSetting = CHAIN, concurrency: int = 1, **course: object
) -> Measurement:
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
    record = record.model_copy(update=course)
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
    broken = request(1, ok=False, error="http 503: the queue is full")
    one_chunk = request(2, chunks=1, t_last=0.1)
    m = measured([request(0), request(3), broken, one_chunk])
    assert (m.requests, m.failed) == (2, 2)
    assert m.failures == {"refused as too busy (503)": 1, "too short to be timed": 1}


KINDS = {
    "http 429: queue full": "refused as too busy (429)",
    "http 500: oops": "refused (http 500)",
    "timeout: no end after 300 s": "ran into the time limit",
    "connection: ECONNREFUSED: the server cannot be reached": "lost or without a connection",
    "broken stream: it ended without a finish reason": "broken off without an end",
    "server error: out of memory": "ended with a server error",
    "stopped: the bench was stopped": "unfinished when the bench was stopped",
}


def test_every_kind_of_failure_is_counted_apart_and_said() -> None:
    bad = [request(i, ok=False, error=error, t_last=900.0) for i, error in enumerate(KINDS, start=10)]
    alone, among = measured([request(0), request(1)]), measured([request(0), *bad, request(1)])
    assert among.failures == dict.fromkeys(KINDS.values(), 1)
    for name in ("throughput", "request_throughput", "accept_length", "step", "ttft_ms", "conditional"):
        assert getattr(among, name) == getattr(alone, name), name
    told = " ".join(among.flags)
    assert "7 of 9 requests are in no figure" in told
    assert all(f"1 {kind}" in told for kind in KINDS.values())
    assert "less load than was planned" in told
    assert not any("in no figure" in flag for flag in alone.flags)


def test_a_bench_that_was_stopped_is_averaged_into_nothing() -> None:
    stopped = "the server process 7 ended during the bench"
    m = measured([request(0), request(1), request(2, ok=False, error="connection: reset")], stopped=stopped)
    assert (m.throughput, m.step, m.accept_length, m.ttft_ms, m.requests) == (None, None, None, None, 0)
    assert m.stopped == stopped
    assert m.flags[0].startswith(f"stopped early: {stopped}; the 2 requests that had ended")


def test_a_clock_that_was_set_is_said_and_moves_no_figure() -> None:
    fair = [request(0), request(1)]
    set_back = measured(fair, started_at=9e9, ended_at=9e9 - 3600.0, wall_s=6.0, clock_jump_s=-3606.0)
    assert set_back.throughput == measured(fair).throughput
    assert "clock was set by -3606 s" in " ".join(set_back.flags)
    assert not any("clock" in flag or "limit" in flag for flag in measured(fair, clock_jump_s=0.2).flags)


def test_a_client_at_its_limit_and_a_warm_up_that_still_moves_are_said() -> None:
    told = " ".join(measured([request(0), request(1)], client_cpu_s=5.5, wall_s=6.0, warmup_drift=-0.3).flags)
    assert "client near its own limit" in told
    assert "moved by -30% at the end of the warm-up" in told


def test_requests_of_others_in_the_log_are_said() -> None:
    posted = 'INFO: 10.0.0.1:5 - "POST /generate HTTP/1.1" 200 OK\n'
    busy = "Decode batch. #running-req: 3, #token: 50, token usage: 0.01, gen throughput (token/s): 60\n"
    assert "foreign traffic: at least 2" in " ".join(measured([request(0)], log=posted * 3).flags)
    assert "foreign traffic: at least 2" in " ".join(measured([request(0)], log=busy).flags)
    assert "foreign" not in " ".join(measured([request(0)], log=posted).flags)


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


def test_intervals_that_count_drafts_are_weighted_by_them() -> None:
    windows = [
        window(accept_length=3.0, counts=DraftCounts(drafts=10, drafted=20, accepted=20)),
        window(accept_length=1.5, counts=DraftCounts(drafts=90, drafted=180, accepted=45)),
        window(accept_length=1.5, counts=DraftCounts(drafts=100, drafted=200, accepted=50)),
    ]
    m = traffic_measurement(
        measurement_id="M1", evidence="E1", launch="as found", launch_key="original", spec=CHAIN, windows=windows
    )
    assert m is not None
    assert m.accept_length is not None
    assert m.accept_length.value == pytest.approx(1 + 115 / 200)
    assert "drafts" in m.accept_length.estimator


def test_an_empty_log_gives_no_measurement() -> None:
    found = traffic_measurement(
        measurement_id="M1", evidence="E1", launch="l", launch_key="k", spec=CHAIN, windows=[window(running=0)]
    )
    assert found is None


VLLM_COUNTERS = """vllm:spec_decode_num_drafts_total{{engine="0"}} {0}
vllm:spec_decode_num_accepted_tokens_total{{engine="0"}} {1}
vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="0"}} {2}
vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="1"}} {3}
"""


def bare(number: int) -> RequestRecord:
    return request(number, verify_ct=None, correct_drafts=None, histogram=None)


def test_acceptance_from_counters_is_a_difference_of_two_scrapes() -> None:
    scrapes = {
        "metrics_before": VLLM_COUNTERS.format(1000, 900, 800, 100),
        "metrics_after": VLLM_COUNTERS.format(1100, 1000, 860, 140),
    }
    m = measured([bare(0), bare(1)], **scrapes)
    assert m.accept_length is not None
    assert m.accept_length.value == pytest.approx(2.0)
    assert [a.value for a in m.conditional] == pytest.approx([0.6, 40 / 60])
    assert m.throughput is not None
    assert m.step is not None
    assert m.step.value == pytest.approx(2000.0 / m.throughput.value), "a cycle brings as many tokens as were accepted"


def test_counters_that_were_reset_give_nothing_and_are_told() -> None:
    scrapes = {
        "metrics_before": VLLM_COUNTERS.format(1000, 900, 800, 100),
        "metrics_after": VLLM_COUNTERS.format(5, 4, 3, 1),
    }
    m = measured([bare(0), bare(1)], **scrapes)
    assert m.accept_length is None
    assert any("were reset meanwhile" in flag for flag in m.flags)


def test_ranks_are_summed_and_the_first_tokens_are_left_out() -> None:
    rows = 'sglang:spec_verify_calls_total{{dp_rank="{0}"}} {1}\nsglang:generation_tokens_total{{dp_rank="{0}"}} {2}\n'
    before = rows.format(0, 10, 20) + rows.format(1, 0, 0)
    after = rows.format(0, 60, 121) + rows.format(1, 50, 101)
    m = measured([bare(0), bare(1)], metrics_before=before, metrics_after=after)
    assert m.accept_length is not None
    assert m.accept_length.value == pytest.approx(200 / 100)


def test_the_form_of_the_prompts_is_part_of_each_estimators_name() -> None:
    m = measured([request(0), request(1)])
    assert m.throughput is not None
    assert m.throughput.estimator.endswith("; raw prompts")
