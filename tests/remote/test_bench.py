"""The load generator against a server whose every count is known beforehand."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from typing import Any

import pytest

from specdoctor.core.measurement import BenchRecord, WatchRecord
from tests.remote.workplace import PYTHONS, FakeServer, Workplace, is_alive, loaded, wait_for

pytestmark = pytest.mark.thorough

SPEC = ("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3")


def plan(server: FakeServer, **changes: Any) -> dict[str, Any]:
    prompts = [{"id": f"p{index}", "category": "code", "text": f"def f{index}():"} for index in range(3)]
    return {
        "run": "run1",
        "action": "b1",
        "server": server.ref,
        "engine": "sglang",
        "model": "fake",
        "prompt_set": {"name": "three", "digest": "0", "prompts": prompts},
        "form": "generate",
        "concurrency": 2,
        "requests": 5,
        "warmup": 2,
        "max_new_tokens": 12,
        "temperature": 0.0,
        "request_timeout_s": 10.0,
        "own_command": [],
        "log_path": str(server.log),
        **changes,
    }


def params(asked: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"plan": asked, "extra_body": {}, "own_limit_s": 5.0, "log_settle_s": 0.1, **changes}


def job(place: Workplace, command: str, **more: Any) -> dict[str, Any]:
    return place.run("job", {"cmd": command, "run": "run1", "action": "b1", **more})


def fetched(place: Workplace) -> str:
    """The result of the bench once it has one, checked by its hash; nothing is left of it afterwards."""
    state = wait_for(lambda: (now := job(place, "poll"))["outcome"] and now, 30.0)
    text = str(job(place, "fetch", offset=0, limit=1 << 24)["part"])
    assert hashlib.sha256(text.encode()).hexdigest() == state["outcome"]["sha256"]
    job(place, "drop")
    assert not (place.root / ".local").exists()
    return text


def bench(place: Workplace, asked: dict[str, Any], python: str = PYTHONS[0], **changes: Any) -> BenchRecord:
    begun = place.run("bench", params(asked, **changes), python)
    assert begun["action"] == "b1"
    return BenchRecord.model_validate_json(fetched(place))


@pytest.mark.parametrize("python", PYTHONS)
def test_counts_are_exact(place: Workplace, python: str) -> None:
    server = place.start(*SPEC)
    record = bench(place, plan(server), python)
    assert record.stopped is None
    assert record.warmed_up
    assert len(record.requests) == 5
    assert sorted(request.prompt for request in record.requests) == ["p0", "p0", "p1", "p1", "p2"]
    for request in record.requests:
        # Steps accept 3, 0, 1, 2 drafts in turn: 1 + 4 + 1 + 2 + 3 = 11 tokens after four steps, 15 after five, cut.
        assert request.ok
        assert request.completion_tokens == 12
        assert request.verify_ct == 5
        assert request.correct_drafts == 9
        assert request.proposed_drafts == 15
        assert request.histogram == (1, 1, 1, 2)
        assert request.chunks == 6
        assert request.tokens_first_chunk == 1
        assert request.prompt_tokens == 5
        assert request.cached_tokens == 2
        assert request.finish == "length"
        assert request.t_first is not None
        assert request.t_last is not None
        assert request.t_send < request.t_first <= request.t_last
    assert len({request.text_digest for request in record.requests}) == 1
    assert record.log.count("Prefill batch") == 5, "the log of the warm-up is not in it"
    assert server.log.read_text().count("Prefill batch") == 7
    assert record.client_cpu_s > 0
    assert record.started_at < record.ended_at


def test_without_speculation_there_are_no_counts(place: Workplace) -> None:
    request = bench(place, plan(place.start())).requests[0]
    assert request.completion_tokens == 12
    assert request.verify_ct is None
    assert request.histogram is None


def test_chat_gives_usage_and_counts_where_the_version_gives_them(place: Workplace) -> None:
    server = place.start(*SPEC)
    asked = plan(server, form="chat")
    plain = bench(place, asked).requests[0]
    rich = bench(place, asked, extra_body={"return_spec_tokens_details": True}).requests[0]
    for request in (plain, rich):
        assert request.ok
        assert request.completion_tokens == 12
        assert request.prompt_tokens == 9
        assert request.chunks == 12
        assert request.tokens_first_chunk is None
    assert plain.verify_ct is None
    assert (rich.verify_ct, rich.correct_drafts) == (5, 9)


@pytest.mark.slow
def test_what_looks_on_knows_a_benchmark_that_a_killed_run_has_left(place: Workplace) -> None:
    server, other = place.start(), place.start()
    begun = place.run("bench", params(plan(server, requests=5000)))
    assert begun["outcome"] is None
    look = {"server": server.ref, "seconds": 0.5, "log_path": str(server.log)}
    record = WatchRecord.model_validate(place.run("watch", look))
    assert record.foreign_requests
    (load,) = record.own_loads
    assert (load.run, load.action) == ("run1", "b1")
    assert is_alive(load.pid)
    assert load.words.startswith(f"benchmark b1 of run run1 (process {load.pid}, last asked about ")
    elsewhere = {"server": other.ref, "seconds": 0.1, "log_path": str(other.log)}
    assert WatchRecord.model_validate(place.run("watch", elsewhere)).own_loads == ()
    survey = place.run("lifecycle", {"cmd": "survey"})["runs"]
    assert [each["pid"] for left in survey if left["run"] == "run1" for each in left["loads"]] == [load.pid]
    place.run("lifecycle", {"cmd": "release", "run": "run1"})
    assert not is_alive(load.pid)
    assert WatchRecord.model_validate(place.run("watch", look)).own_loads == ()


def test_an_extra_field_that_the_version_refuses_is_left_out(place: Workplace) -> None:
    server = place.start("--fake-refuse-extra")
    record = bench(place, plan(server, form="chat"), extra_body={"return_spec_tokens_details": True})
    assert all(request.ok for request in record.requests)
    assert record.warmup_failed == 0


def test_refused_requests_are_kept_apart(place: Workplace) -> None:
    server = place.start("--fake-busy-every", "3")
    record = bench(place, plan(server, requests=7))
    failed = [request for request in record.requests if not request.ok]
    assert [request.error for request in failed] == ['http 503: {"error":"The request queue is full"}'] * len(failed)
    assert len(failed) == 3
    assert all(request.completion_tokens is None for request in failed)
    assert record.stopped is None


def test_a_hung_request_is_a_timeout_and_the_others_go_on(place: Workplace) -> None:
    server = place.start("--fake-hang-at", "4")
    record = bench(place, plan(server, request_timeout_s=0.7))
    errors = [request.error for request in record.requests if not request.ok]
    assert errors == ["timeout: no end after 0.7 s"]
    assert len(record.requests) == 5


def test_a_server_that_dies_ends_the_bench(place: Workplace) -> None:
    server = place.start("--fake-crash-at", "4")
    record = bench(place, plan(server, requests=50))
    assert record.stopped == f"the server process {server.pid} ended during the bench"
    assert len(record.requests) < 10


def test_stops_when_no_warm_up_succeeds(place: Workplace) -> None:
    server = place.start("--fake-busy-every", "1")
    record = bench(place, plan(server))
    assert not record.warmed_up
    assert record.warmup_failed == 2
    assert record.requests == ()
    assert record.stopped is not None
    assert record.stopped.startswith("all 2 warm-up requests failed: http 503")


def test_uses_the_key_of_the_server_and_never_tells_it(place: Workplace) -> None:
    server = place.start("--api-key", "k3y-Very-Private")
    asked = plan(server, own_command=["cat", str(server.log)])
    place.run("bench", params(asked))
    told = fetched(place)
    record = BenchRecord.model_validate_json(told)
    assert all(request.ok for request in record.requests)
    assert "api_key='***'" in (record.own_output or "")
    assert "k3y-Very-Private" not in told


@pytest.mark.parametrize(("command", "code"), [("echo out; echo err >&2; exit 3", 3), ("exit 0", 0)])
def test_runs_the_own_benchmark(place: Workplace, command: str, code: int) -> None:
    record = bench(place, plan(place.start(), requests=1, warmup=0, own_command=["sh", "-c", command]))
    assert record.own_exit_code == code
    assert record.own_output == ("out\nerr\n" if code else "")


def test_the_own_benchmark_is_bounded_in_time_with_all_its_children(place: Workplace) -> None:
    command = ["sh", "-c", "echo first; sleep 30 & sleep 30; echo last"]
    started = time.monotonic()
    record = bench(place, plan(place.start(), requests=1, warmup=0, own_command=command), own_limit_s=0.5)
    assert time.monotonic() - started < 10
    assert record.own_output == "first\n"
    assert record.own_exit_code == -9


def test_tells_progress_and_runs_on_by_itself(place: Workplace) -> None:
    server = place.start("--fake-step-s", "0.1")
    asked = params(plan(server, warmup=0))
    assert place.run("bench", asked)["runs"] is True
    seen = wait_for(lambda: (now := job(place, "poll"))["stage"] == "measure" and now)
    assert seen["total"] == 5
    place.run("bench", asked)
    BenchRecord.model_validate_json(fetched(place))
    assert server.log.read_text().count("Prefill batch") == 5, "given twice it was carried out once"


def test_a_signal_ends_it_with_what_there_is(place: Workplace) -> None:
    server = place.start("--fake-step-s", "0.5")
    place.run("bench", params(plan(server, warmup=0, requests=100, max_new_tokens=100)))
    wait_for(lambda: "Prefill batch" in server.log.read_text())
    os.kill(worker_of(place), signal.SIGTERM)
    record = BenchRecord.model_validate_json(fetched(place))
    assert record.stopped == f"stopped by signal {int(signal.SIGTERM)}"
    assert len(record.requests) == 2
    assert all(request.error == "stopped: the bench was stopped" for request in record.requests)


def worker_of(place: Workplace) -> int:
    state = json.loads((place.root / ".local/state/specdoctor/run1/bench-b1.json").read_text())
    return int(state["worker"]["pid"])


def test_it_is_stopped_with_everything_it_left(place: Workplace) -> None:
    server = place.start("--fake-step-s", "0.5")
    place.run("bench", params(plan(server, warmup=0, requests=100, max_new_tokens=100)))
    worker = worker_of(place)
    job(place, "stop")
    assert not is_alive(worker)
    assert not (place.root / ".local").exists()
    assert job(place, "poll")["error"]["kind"] == "unknown-action"


def test_one_that_was_killed_has_an_unknown_end(place: Workplace) -> None:
    server = place.start("--fake-step-s", "0.5")
    place.run("bench", params(plan(server, warmup=0, requests=100, max_new_tokens=100)))
    os.kill(worker_of(place), signal.SIGKILL)
    state = wait_for(lambda: not (now := job(place, "poll"))["runs"] and now)
    assert state["outcome"] is None


@pytest.mark.parametrize("wrong", ["pid", "start_ticks", "port"])
def test_refuses_another_server(place: Workplace, wrong: str) -> None:
    server = place.start()
    asked = plan(server)
    asked["server"][wrong] = {"pid": os.getpid(), "start_ticks": 1, "port": 1}[wrong]
    answer = place.run("bench", params(asked))
    assert answer["error"]["kind"] == "not-the-server"
    assert "POST" not in server.log.read_text()


HISTOGRAM = [1, 1, 1, 2]
OLD = {"spec_verify_ct": 5, "spec_accept_token_num": 9, "spec_draft_token_num": 15}
COUNTS: dict[str, dict[str, Any]] = {
    "0.4.9": {"spec_verify_ct": 5},
    "0.5.6": OLD,
    "0.5.10": {**OLD, "spec_accept_histogram": HISTOGRAM},
    "0.5.11": {
        "spec_verify_ct": 5,
        "spec_accepted_drafts": 9,
        "spec_proposed_drafts": 15,
        "spec_accept_histogram": HISTOGRAM,
    },
    "0.5.23": {
        "spec_verify_ct": 5,
        "spec_num_correct_drafts": 9,
        "spec_num_proposed_drafts": 15,
        "spec_correct_drafts_histogram": HISTOGRAM,
    },
}


@pytest.mark.parametrize("version", COUNTS)
def test_counts_by_the_names_of_each_version(version: str) -> None:
    forms = loaded("parts.request_forms")
    found = forms.counts_of([{"meta_info": {"completion_tokens": 12, **COUNTS[version]}}])
    assert found["verify_ct"] == 5
    assert found.get("correct_drafts") == (None if version == "0.4.9" else 9)
    assert found.get("proposed_drafts") == (None if version == "0.4.9" else 15)
    assert found.get("histogram") == (None if version in ("0.4.9", "0.5.6") else HISTOGRAM)


def test_counts_of_other_engines() -> None:
    forms = loaded("parts.request_forms")
    vllm = {
        "num_spec_steps": 9,
        "num_accepted_draft_tokens": 11,
        "num_draft_tokens": 21,
        "acceptance_histogram": [3, 3, 1, 2],
    }
    found = forms.counts_of([{"usage": {"completion_tokens": 20}, "metrics": {"speculative_decoding": vllm}}])
    assert (found["verify_ct"], found["correct_drafts"], found["proposed_drafts"]) == (9, 11, 21)
    llama = forms.counts_of([{"timings": {"predicted_n": 64, "prompt_n": 7, "draft_n": 60, "draft_n_accepted": 40}}])
    counted = {"completion_tokens": 64, "prompt_tokens": 7, "correct_drafts": 40, "proposed_drafts": 60}
    assert llama == {**counted, "verify_ct": 23}


def test_an_incremental_stream_gives_the_same_text_as_a_cumulative_one() -> None:
    request = loaded("parts.one_request")
    whole, pieces = request.Answer(), request.Answer()
    for index, piece in enumerate(["a", "ab", "c"], start=1):
        text = "aabc"[: [1, 3, 4][index - 1]]
        tokens = {"meta_info": {"completion_tokens": index}}
        whole.take({"text": text, "output_ids": [0] * index, **tokens}, float(index))
        pieces.take({"text": piece, "output_ids": [0], **tokens}, float(index))
    assert whole.text == pieces.text == "aabc"
    assert (whole.chunks, pieces.chunks) == (3, 3)
    assert (whole.t_first, whole.t_last) == (1.0, 3.0)


def test_an_error_inside_a_stream_is_the_servers_word() -> None:
    request = loaded("parts.one_request")
    with pytest.raises(ValueError, match="out of memory"):
        request.Answer().take({"error": {"message": "out of memory"}}, 1.0)
    with pytest.raises(ValueError, match="aborted: too long"):
        request.Answer().take({"meta_info": {"finish_reason": {"type": "abort", "message": "too long"}}}, 1.0)


@pytest.mark.parametrize(("engine", "form"), [("sglang", "generate"), ("vllm", "chat"), ("llamacpp", "generate")])
def test_a_fixed_length_is_asked_for_where_each_engine_takes_it(engine: str, form: str) -> None:
    forms = loaded("parts.request_forms")
    asked = {"engine": engine, "form": form, "model": "m", "max_new_tokens": 9, "temperature": 0.8}
    _, natural = forms.request_for(asked, "x", {})
    _, fixed = forms.request_for({**asked, "ignore_eos": True}, "x", {})
    place = fixed["sampling_params"] if engine == "sglang" else fixed
    assert place["ignore_eos"] is True
    assert place["temperature"] == 0.8
    assert "ignore_eos" not in json.dumps(natural)
