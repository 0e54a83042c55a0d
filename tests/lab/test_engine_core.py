"""Batching, caching and counting of the engine core."""

from __future__ import annotations

import json

import pytest

from specdoctor.lab.engine_core import EngineCore, GenRequest, StepResult
from tests.lab.engine_bench import COMMAND, NOW_S, PLAIN, SPECULATION, bench_world, closed_loop, started

WORLD = bench_world()
SPECULATIVE = started(WORLD, [*COMMAND, *SPECULATION])
BASE = started(WORLD, COMMAND)


def drain(core: EngineCore, now_s: float = NOW_S) -> list[StepResult]:
    results = []
    while (result := core.step(now_s)) is not None:
        now_s += result.duration_s
        results.append(result)
    return results


def request(name: str, *, tokens: int = 64, prompt: str | tuple[int, ...] = "a few words to begin with") -> GenRequest:
    return GenRequest(name, prompt, max_new_tokens=tokens, ignore_eos=True)


def test_an_idle_server_does_nothing() -> None:
    assert EngineCore(BASE, WORLD, 1).step(NOW_S) is None


def test_the_first_token_comes_from_the_prefill() -> None:
    core = EngineCore(SPECULATIVE, WORLD, 1)
    core.submit(request("a"), NOW_S)
    first = core.step(NOW_S)
    assert first is not None
    assert first.kind == "prefill"
    assert len(first.deltas["a"]) == 1


def test_a_request_gets_exactly_its_tokens_and_then_one_surplus_step_follows() -> None:
    core = EngineCore(SPECULATIVE, WORLD, 1)
    core.submit(request("a", tokens=50), NOW_S)
    results = drain(core)
    done = next(result.finished["a"] for result in results if result.finished)
    assert sum(len(result.deltas.get("a", ())) for result in results) == 50
    assert done.reason == {"type": "length", "length": 50}
    assert done.usage["completion_tokens"] == 50
    assert [result.kind for result in results][-2:] == ["decode", "empty"]


def test_no_surplus_step_without_overlap_scheduling() -> None:
    core = EngineCore(started(WORLD, [*COMMAND, "--disable-overlap-schedule"]), WORLD, 1)
    core.submit(request("a", tokens=5), NOW_S)
    assert [result.kind for result in drain(core)] == ["prefill", "decode", "decode", "decode", "decode"]


def test_the_histogram_is_exact_and_the_last_step_may_overshoot() -> None:
    for tokens in range(10, 40):
        core = EngineCore(SPECULATIVE, WORLD, 1)
        core.submit(request("a", tokens=tokens, prompt=f"prompt of {tokens}"), NOW_S)
        meta = next(result.finished["a"].meta_info for result in drain(core) if result.finished)
        histogram = meta["spec_correct_drafts_histogram"]
        assert sum(histogram) == meta["spec_verify_ct"]
        assert sum(index * count for index, count in enumerate(histogram)) == meta["spec_num_correct_drafts"]
        surplus = 1 + meta["spec_verify_ct"] + meta["spec_num_correct_drafts"] - tokens
        assert 0 <= surplus <= 3
        assert meta["spec_accept_length"] == tokens / meta["spec_verify_ct"]


def test_a_text_may_end_by_itself() -> None:
    reasons = set()
    for number in range(12):
        core = EngineCore(BASE, WORLD, 1)
        core.submit(GenRequest("a", f"question {number}", max_new_tokens=2000), NOW_S)
        done = next(result.finished["a"] for result in drain(core) if result.finished)
        reasons.add(done.reason["type"])
        if done.reason["type"] == "stop":
            assert done.reason["matched"] == 2
    assert "stop" in reasons


def test_running_requests_are_capped_and_the_rest_waits() -> None:
    capped = started(WORLD, [*PLAIN, *SPECULATION, "--attention-backend", "triton"])
    core = EngineCore(capped, WORLD, 1)
    for number in range(64):
        core.submit(request(f"r{number}", tokens=400, prompt=f"prompt {number}"), NOW_S)
    now_s, lines = NOW_S, list[str]()
    for _ in range(60):
        result = core.step(now_s)
        assert result is not None
        now_s += result.duration_s
        lines += result.log_lines
    assert (core.running, core.waiting) == (48, 16)
    assert any("#running-req: 48," in line and line.endswith("#queue-req: 16") for line in lines if "Decode" in line)


def test_a_long_prompt_is_prefilled_in_chunks() -> None:
    core = EngineCore(SPECULATIVE, WORLD, 1)
    core.submit(request("a", tokens=2, prompt=tuple(range(300, 2900))), NOW_S)
    results = drain(core)
    prefills = [result for result in results if result.kind == "prefill"]
    assert len(prefills) == 2
    assert not prefills[0].deltas
    assert "#new-token: 2048," in prefills[0].log_lines[0]
    assert "#pending-token: 552," in prefills[0].log_lines[0]
    assert "#new-token: 552," in prefills[1].log_lines[0]


def test_the_pool_limits_who_is_admitted() -> None:
    small = started(WORLD, [*COMMAND, "--max-total-tokens", "4096"])
    core = EngineCore(small, WORLD, 1)
    for number in range(8):
        core.submit(request(f"r{number}", tokens=800, prompt=tuple(range(300 + number, 700 + number))), NOW_S)
    core.step(NOW_S)
    assert 0 < core.running < 8
    assert core.waiting == 8 - core.running


@pytest.mark.parametrize(("resolved", "kept_back"), [(BASE, 1), (SPECULATIVE, 2)])
def test_a_repeated_prompt_is_cached(resolved: object, kept_back: int) -> None:
    core = EngineCore(BASE if resolved is BASE else SPECULATIVE, WORLD, 1)
    cached = []
    for name in ("a", "b"):
        core.submit(request(name, tokens=5), NOW_S)
        meta = next(result.finished[name].meta_info for result in drain(core) if result.finished)
        cached.append((meta["cached_tokens"], meta["prompt_tokens"]))
    assert cached[0][0] == 0
    assert cached[1][0] == cached[1][1] - kept_back


def test_the_cache_can_be_off_and_can_be_flushed() -> None:
    off = EngineCore(started(WORLD, [*COMMAND, "--disable-radix-cache"]), WORLD, 1)
    core = EngineCore(BASE, WORLD, 1)
    for engine in (off, core):
        engine.submit(request("a", tokens=5), NOW_S)
        drain(engine)
    reply = core.flush_cache(NOW_S)
    assert reply.status == 200
    assert reply.log_lines[0].endswith("Cache flushed successfully!")
    for engine in (off, core):
        engine.submit(request("b", tokens=5), NOW_S)
        done = next(result.finished["b"] for result in drain(engine) if result.finished)
        assert done.meta_info["cached_tokens"] == 0


def test_a_busy_server_is_not_flushed() -> None:
    core = EngineCore(BASE, WORLD, 1)
    core.submit(request("a"), NOW_S)
    reply = core.flush_cache(NOW_S)
    assert reply.status == 400
    assert "Cache not flushed because there are pending requests. #queue-req: 1, #running-req: 0" in reply.log_lines[0]


def test_a_flush_resets_the_average_accept_length() -> None:
    run = closed_loop(SPECULATIVE, WORLD, requests=2)
    state = run.core.server_info(NOW_S)["internal_states"][0]
    assert state["avg_spec_accept_length"] == pytest.approx(run.accept_length, rel=0.1)
    run.core.flush_cache(NOW_S)
    assert "avg_spec_accept_length" not in run.core.server_info(NOW_S)["internal_states"][0]


def test_the_average_waits_for_the_first_line() -> None:
    run = closed_loop(SPECULATIVE, WORLD, requests=1, tokens=6)
    assert "avg_spec_accept_length" not in run.core.server_info(NOW_S)["internal_states"][0]


def test_an_aborted_request_leaves() -> None:
    core = EngineCore(BASE, WORLD, 1)
    core.submit(request("a", tokens=500), NOW_S)
    core.submit(request("b", tokens=20, prompt="another prompt"), NOW_S)
    core.step(NOW_S)
    core.abort("a")
    results = drain(core)
    assert any("b" in result.finished for result in results)
    assert not any("a" in result.deltas for result in results)


def test_a_health_check_is_one_token_and_one_empty_step() -> None:
    core = EngineCore(BASE, WORLD, 1)
    assert core.health_generates
    core.submit(GenRequest("h", (0,), max_new_tokens=1, health_check=True), NOW_S)
    results = drain(core)
    assert [result.kind for result in results] == ["prefill", "empty"]
    assert "#new-seq: 1, #new-token: 1, #cached-token: 0" in results[0].log_lines[0]
    assert "h" in results[0].finished


@pytest.mark.parametrize(
    "bad",
    [
        GenRequest("a", "x", temperature=-1),
        GenRequest("a", tuple(range(300, 3400))),
    ],
)
def test_bad_requests_are_refused(bad: GenRequest) -> None:
    reply = EngineCore(BASE, WORLD, 1).submit(bad, NOW_S)
    assert reply is not None
    assert reply.status == 400
    assert "message" in json.loads(reply.body)["error"]


def test_the_log_interval_holds_idle_time() -> None:
    core = EngineCore(BASE, WORLD, 1, ready_s=NOW_S - 100)
    core.submit(request("a", tokens=40), NOW_S)
    lines = [line for result in drain(core) for line in result.log_lines if "Decode" in line]
    first = float(lines[0].split("gen throughput (token/s): ")[1].split(",")[0])
    second = float(lines[1].split("gen throughput (token/s): ")[1].split(",")[0])
    assert first < 1
    assert second > 100


def test_graphs_used_are_reported_and_counted() -> None:
    eager = started(WORLD, [*COMMAND, *SPECULATION, "--cuda-graph-backend-decode", "disabled"])
    run = closed_loop(eager, WORLD, requests=1, tokens=60)
    assert all("cuda graph: False" in line for line in run.lines if "Decode" in line)
    assert 'mode="decode_none"' in run.core.metrics_text(NOW_S)
    assert "decode_cuda_graph" not in run.core.metrics_text(NOW_S)


def test_the_same_seed_gives_the_same_run() -> None:
    one, two = (closed_loop(SPECULATIVE, WORLD, requests=4, seed=5) for _ in range(2))
    other = closed_loop(SPECULATIVE, WORLD, requests=4, seed=6)
    assert one.lines == two.lines
    assert one.texts == two.texts
    assert one.lines != other.lines


def test_greedy_text_and_acceptance_do_not_depend_on_the_seed() -> None:
    one, other = (closed_loop(SPECULATIVE, WORLD, requests=4, seed=seed) for seed in (5, 6))
    assert one.texts == other.texts
    assert one.accept_length == other.accept_length


def test_sampled_text_does_depend_on_it() -> None:
    one, other = (closed_loop(SPECULATIVE, WORLD, requests=3, seed=seed, temperature=0.8) for seed in (5, 6))
    assert one.texts != other.texts


def test_greedy_text_is_mostly_the_same_without_speculation() -> None:
    plain, drafted = closed_loop(BASE, WORLD, requests=24), closed_loop(SPECULATIVE, WORLD, requests=24)
    same = sum(plain.texts[name] == drafted.texts[name] for name in plain.texts)
    assert 12 <= same < 24


def test_text_reads_like_text_or_code() -> None:
    for prompt, mark in (("Tell me about rivers.", "The "), ("```python\ndef f(x):\n", "def ")):
        core = EngineCore(BASE, WORLD, 1)
        core.submit(GenRequest("a", prompt, max_new_tokens=60, ignore_eos=True), NOW_S)
        text = "".join(token.text for result in drain(core) for token in result.deltas.get("a", ()))
        assert text.startswith(mark)
        assert len(text) > 150


def test_batches_raise_the_throughput() -> None:
    alone = closed_loop(SPECULATIVE, WORLD, requests=16, tokens=96)
    crowd = closed_loop(SPECULATIVE, WORLD, clients=16, requests=64, tokens=96)
    assert crowd.total_tok_s > 4 * alone.total_tok_s
    assert crowd.decode_tok_s < alone.decode_tok_s
