"""Whole logs: lines of every version, windows, starts, versions, failures and the figures they give."""

from __future__ import annotations

from typing import Any

import pytest

from specdoctor.engines.sglang_decode import log_accept_length, log_step_ms, parse_decode
from specdoctor.engines.sglang_failure import explain_failure
from specdoctor.engines.sglang_log import read_log
from specdoctor.engines.sglang_prefix import split_line
from specdoctor.engines.versions import parse_range, version
from tests.engines.sglang_data import cases, excerpt

DECODE = (
    "Decode batch, #running-req: {running}, #token: {tokens}, token usage: 0.00, accept len: {length}, "
    "accept rate: {rate}, cuda graph: True, gen throughput (token/s): {speed}, #queue-req: 0"
)
PREFILL = (
    "Prefill batch, #new-seq: 1, #new-token: 10, #cached-token: 0, token usage: 0.00, #running-req: 0, "
    "#queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 7.60"
)


def stamped(*messages: str, rank: str = "") -> str:
    return "".join(f"[2026-11-29 18:48:{i:02d}{rank}] {m}\n" for i, m in enumerate(messages))


def decode(running: int = 1, tokens: int = 100, length: str = "2.50", rate: str = "0.50", speed: str = "500.00") -> str:
    return DECODE.format(running=running, tokens=tokens, length=length, rate=rate, speed=speed)


@pytest.mark.parametrize("case", cases("decode-lines.yaml"), ids=lambda c: str(c["version"]))
def test_decode_lines_of_every_version(case: dict[str, Any]) -> None:
    line = split_line(case["line"])
    found = parse_decode(line.message, line=1, at=None, rank=line.rank)
    assert found is not None
    assert {key: getattr(found, key) for key in case["read"]} == case["read"]


@pytest.mark.parametrize("case", cases("carriers.yaml"), ids=lambda c: str(next(iter(c))))
def test_what_stands_around_a_message_is_taken_off(case: dict[str, str]) -> None:
    (raw,) = case.values()
    line = split_line(raw.replace("MESSAGE", "Load weight begin."))
    assert line.message == "Load weight begin."
    assert line.stamp.startswith("2026-11-29 18:48:16")
    assert line.rank == "TP0"


def test_lines_kept_as_json_by_a_container_daemon_are_read() -> None:
    raw = '{"log":"[2026-11-29 18:48:16] ' + decode() + '\\n","stream":"stderr","time":"2026-11-29T18:48:16Z"}\n'
    (window,) = read_log(raw, where="json.log").decode
    assert window.accept_length == 2.5


@pytest.mark.parametrize("case", cases("proofs.yaml"), ids=lambda c: str(c["title"]))
def test_wording_proves_a_range_that_holds_its_versions(case: dict[str, Any]) -> None:
    text = "\n".join(case["lines"])
    reading = read_log(text, where="server.log")
    assert reading.version_range == case["range"]
    assert all(parse_range(reading.version_range).contains(version(v)) for v in case["holds"])
    lines = text.split("\n")
    assert reading.version_proofs
    assert all(p.line is not None and p.quote and p.quote in lines[p.line - 1] for p in reading.version_proofs)


def test_lines_of_two_versions_in_one_start_prove_nothing() -> None:
    text = stamped(
        "Capture cuda graph begin. avail mem=1 GB", "Tree cache initialized: x", "Capture target verify CUDA"
    )
    reading = read_log(text, where="server.log")
    assert reading.version_range is None
    assert [n.kind for n in reading.notices] == ["version-conflict"]


def test_the_rate_is_read_by_what_the_length_implies() -> None:
    old = stamped(*[decode(length=a, rate=b) for a, b in (("2.17", "0.54"), ("1.95", "0.49"), ("1.57", "0.39"))])
    new = stamped(*[decode(length=a, rate=b) for a, b in (("2.50", "0.50"), ("1.90", "0.30"), ("3.10", "0.70"))])
    argv = ("sglang", "serve", "--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3",
            "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4")  # fmt: skip
    for text, printed in ((old, 0.54), (new, 0.5)):
        first = read_log(text, where="server.log", argv=argv).decode[0]
        assert first.accept_rate == printed
        assert first.accept_length is not None
        assert first.strict_rate == pytest.approx((first.accept_length - 1) / 3)
    assert read_log(new, where="server.log").decode[0].strict_rate == 0.5
    assert read_log(old, where="server.log").decode[0].strict_rate is None


def test_windows_are_clean_only_inside_plain_decoding() -> None:
    text = stamped(PREFILL, decode(), decode(), decode(tokens=0), decode(), decode(), PREFILL, decode(), decode(),
                   "SIGTERM received. signum=None frame=None. Draining requests", decode())  # fmt: skip
    reading = read_log(text, where="server.log")
    assert [w.clean for w in reading.decode] == [False, True, False, False, True, False, True, False]
    assert reading.shutdown_line == 10
    assert reading.prefills == 2


def test_each_rank_has_its_own_first_line() -> None:
    text = stamped(decode(), rank=" DP0 TP0") + stamped(decode(), rank=" DP1 TP1") + stamped(decode(), rank=" DP0 TP0")
    reading = read_log(text, where="server.log")
    assert [(w.rank, w.clean) for w in reading.decode] == [("DP0 TP0", False), ("DP1 TP1", False), ("DP0 TP0", True)]


def test_words_quoted_in_a_logged_prompt_are_no_decode_line() -> None:
    text = stamped(f"Receive: obj=GenerateReqInput(text='why does {decode()} say so')")
    assert read_log(text, where="server.log").decode == ()


def test_the_figures_of_a_log() -> None:
    reading = read_log(
        stamped(
            decode(running=1, length="2.00", speed="1.00"),
            decode(running=1, length="2.00", speed="400.00"),
            decode(running=3, length="4.00", speed="2400.00"),
            decode(running=9, tokens=0, length="9.00", speed="1.00"),
        ),
        where="server.log",
    )
    length = log_accept_length(reading)
    assert length is not None
    assert length.value == pytest.approx((2 + 2 + 3 * 4) / 5)
    assert length.low <= length.value <= length.high
    assert length.n == 3
    step = log_step_ms(reading)
    assert step is not None
    assert (step.value, step.unit, step.n) == (5.0, "ms", 2)
    assert log_step_ms(reading, running=7) is None


def test_a_log_without_speculation_has_a_step_and_no_accept_length() -> None:
    line = "Decode batch, #running-req: 2, #token: 9, token usage: 0.1, cuda graph: True, "
    line += "gen throughput (token/s): 500.00, #queue-req: 0"
    reading = read_log(stamped(line, line), where="server.log")
    assert log_accept_length(reading) is None
    step = log_step_ms(reading)
    assert step is not None
    assert step.value == 4.0


def test_a_start_of_a_real_server() -> None:
    text = excerpt("adjusted.log.txt")
    reading = read_log(text, where="server.log")
    assert reading.version_range == ">=0.5.17,<0.5.19"
    assert (reading.ready_line, reading.server_args_line) == (47, 9)
    assert reading.server_args is not None
    assert reading.server_args["speculative_num_draft_tokens"] == 2
    assert [(g.what, g.tokens_per_request, g.max_batch, g.finished) for g in reading.graphs] == [
        ("target", 2, 32, True),
        ("draft extend", 2, 32, True),
    ]
    assert reading.weight_classes == ("LlamaForCausalLM", "LlamaForCausalLMEagle3")
    assert reading.start.total_s == 41.0
    assert reading.start.graphs_s == pytest.approx(3.19)
    assert [n.line for n in reading.notices if n.kind == "chain-tokens"] == [4]
    lines = text.split("\n")
    assert all(notice.text in lines[notice.line - 1] for notice in reading.notices)


def test_an_ordered_stop_is_no_failure_although_it_looks_like_a_crash() -> None:
    text = excerpt("adjusted.log.txt")
    assert "crashed with exit code -15" in text
    assert read_log(text, where="server.log").failure is None
    assert explain_failure(text) is None


@pytest.mark.parametrize("case", cases("failures.yaml"), ids=lambda c: str(c["title"]))
def test_failures_are_told_in_one_sentence(case: dict[str, Any]) -> None:
    failure = explain_failure(case["log"])
    assert failure is not None
    assert case["says"] in failure.meaning
    assert (failure.line, failure.cause) == (case["line"], case["cause"])
    assert failure.quote in case["log"].split("\n")[failure.line - 1]
    assert ". " not in failure.meaning
    assert failure.next_step


@pytest.mark.parametrize(
    ("name", "line", "cause", "says"),
    [
        ("draft-missing", 11, None, "the draft model /models/no_such_dir cannot be found"),
        ("no-draft", 46, "CFG-2", "the target was loaded a second time as its own draft"),
        ("steps-only", 25, "CFG-3", "--speculative-num-steps was given without --speculative-eagle-topk"),
        ("other-vocabulary", 36, "MIS-1", "another vocabulary (4096 tokens) than the target (8192)"),
    ],
)
def test_starts_that_failed_on_a_real_server(name: str, line: int, cause: str | None, says: str) -> None:
    text = excerpt(f"{name}.log.txt")
    failure = read_log(text, where="server.log").failure
    assert failure == explain_failure(text)
    assert failure is not None
    assert (failure.line, failure.cause) == (line, cause)
    assert says in failure.meaning


def test_the_tracebacks_of_requests_do_not_kill_a_living_server() -> None:
    text = stamped("The server is fired up and ready to roll!", decode())
    text += (
        'Traceback (most recent call last):\n  File "x.py", line 1, in f\nValueError: temperature must be positive\n'
    )
    assert read_log(text, where="server.log").failure is None
    assert explain_failure(text) is None


def test_a_file_of_two_runs_tells_of_the_last() -> None:
    ready = "The server is fired up and ready to roll!"
    started = "server_args=ServerArgs(speculative_num_draft_tokens=4)"
    first = stamped(started, ready, decode(length="3.00"), "SIGTERM received.")
    second = stamped("server_args=ServerArgs(speculative_num_draft_tokens=2)", decode(length="1.50", rate="0.50"))
    reading = read_log(first + second, where="server.log")
    assert reading.server_args == {"speculative_num_draft_tokens": 2}
    assert [w.accept_length for w in reading.decode] == [1.5]
    assert reading.ready_line is None
    assert reading.shutdown_line is None
    assert reading.decode[0].line == 6


def test_lines_are_counted_by_newlines_and_last_words_hide_secrets() -> None:
    text = "bar 10%\rbar 50%\rbar 100%\r\n" + stamped("x --api-key sesame1234 y")
    reading = read_log(text, where="server.log")
    assert reading.lines == 2
    assert "sesame" not in reading.last_lines[-1]


def test_a_message_that_runs_into_a_progress_bar_is_read() -> None:
    text = "Capturing:  50%|#    | 1/2\rCapturing: 100%|#####| 2/2 [00:02<00:00,  1.2s/it]"
    text += "[2026-11-29 18:47:33 TP0] Capture cuda graph begin. avail mem=26.02 GB\n"
    text += "100%|#| 2/2\r[2026-11-29 18:47:34 TP0] Capture cuda graph end. Time elapsed: 8.12 s. mem usage=1.05 GB.\n"
    (graph,) = read_log(text, where="server.log").graphs
    assert (graph.what, graph.elapsed_s, graph.line) == ("target", 8.12, 1)


def test_pressure_on_the_cache_is_noted_and_bounded() -> None:
    line = "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.5123 -> 0.9876"
    reading = read_log(stamped(*[line] * 50), where="server.log")
    assert {(n.kind, n.benign) for n in reading.notices} == {("kv-pressure", False)}
    assert len(reading.notices) == 20
