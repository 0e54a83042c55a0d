"""Logs of llama.cpp: requests with their drafts, builds by wording, settings, failures; and those of older forms."""

from __future__ import annotations

import re

import pytest

from specdoctor.core.server import LogReading
from specdoctor.engines.llamacpp import engine
from tests.engines.llamacpp_data import SCENARIOS, log_of, texts_of

SLOT = "slot print_timing: id  0 | task 0 | "
EVAL = SLOT + "       eval time =    2296.72 ms /   256 tokens (    8.97 ms per token,   111.46 tokens per second)\n"
OLD = """main: build = 6100 (a1b2c3d4)
srv    load_model: loading model '/m/t.gguf'
srv    load_model: loading draft model '/m/d.gguf'
main: server is listening on http://127.0.0.1:8080 - starting the main loop
slot launch_slot_: id  0 | task 0 | processing task
slot      release: id  0 | task 0 | stop processing: n_past = 235, truncated = 0
slot print_timing: id  0 | task 0 |
prompt eval time =     228.52 ms /     1 tokens (  228.52 ms per token,     4.38 tokens per second)
       eval time =   11082.61 ms /   200 tokens (   55.41 ms per token,    18.05 tokens per second)
      total time =   11311.13 ms /   201 tokens
draft acceptance rate = 0.18732 (   65 accepted /   347 generated)
srv  update_slots: all slots are idle
"""


def read(text: str) -> LogReading:
    return engine.read_log(text, where="server.log")


COUNTED = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")


def counter(text: str, name: str) -> int:
    match = re.search(rf"^llamacpp:spec_decode_{name}_total (\d+)$", text, re.MULTILINE)
    assert match is not None
    return int(match[1])


@pytest.mark.parametrize("scenario", ["eagle3", "draft_simple_k12", "eagle3_d2t_zero"])
def test_the_requests_of_a_log_add_up_to_the_servers_own_counters(scenario: str) -> None:
    """The counters were read before the last requests, so some beginning of the log makes exactly their numbers."""
    texts = texts_of(scenario)
    stated = tuple(counter(texts["metrics_after.txt"], n) for n in COUNTED)
    sums, drafts, drafted, accepted = [], 0, 0, 0
    for window in read(texts["server.log"]).decode:
        assert window.counts is not None
        drafts += window.counts.drafts or 0
        drafted += window.counts.drafted
        accepted += window.counts.accepted
        sums.append((drafts, drafted, accepted))
    assert stated in sums
    assert sums.index(stated) >= len(sums) - 4


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_captured_log_is_of_a_build_and_start_that_it_shows(scenario: str) -> None:
    reading = read(log_of(scenario))
    assert reading.version is None  # this build was made without its number
    assert reading.version_range in (">=8408", ">=10069")
    assert reading.server_args is not None
    assert reading.server_args["model"] == "/models/tiny-target-wide.gguf"
    assert (reading.ready_line is None) == (reading.failure is not None)
    assert reading.failure is None or not reading.decode


def test_a_failed_start_is_told_in_one_sentence_with_its_cause() -> None:
    ids, crash = read(log_of("eagle3_aux_two")).failure, read(log_of("eagle3_d2t_absolute")).failure
    assert ids is not None
    assert crash is not None
    assert (ids.cause, crash.cause) == ("WIRE-1", "WIRE-3")
    assert "exactly three layers" in ids.meaning
    assert "tokens that the target does not have" in crash.meaning
    assert crash == engine.explain_failure(log_of("eagle3_d2t_absolute"))


def test_a_pair_that_does_not_fit_is_served_without_speculation_and_is_no_failure() -> None:
    reading = read(log_of("draft_othertok"))
    assert reading.failure is None
    assert {"vocab-mismatch", "spec-init-failed"} <= {n.kind for n in reading.notices if not n.benign}


def test_what_the_engine_itself_calls_harmless_is_benign() -> None:
    kinds = {n.kind: n.benign for n in read(log_of("eagle3")).notices}
    assert kinds["memory-fitting"]
    assert kinds["no-api-key"]


def test_the_log_of_2025_prints_release_before_timing_and_no_mean() -> None:
    reading = read(OLD)
    (window,) = reading.decode
    assert (reading.version, reading.version_range) == ("b6100", "<10068")
    assert window.accept_length == pytest.approx(200 / 135)
    assert window.strict_rate == pytest.approx(65 / 347)
    assert window.running == 1
    assert window.clean
    assert reading.counts is not None
    assert (reading.counts.drafts, reading.counts.accept_length) == (None, None)


def test_drafts_are_counted_by_the_statistics_where_they_are_of_that_request_alone() -> None:
    statistics = "statistics draft-eagle3: #calls(b,g,a) =    {n}     87     87, #gen drafts =     {d}, "
    statistics += "#acc drafts =    70, #gen tokens =    {g}, #acc tokens =   167, dur(b,g,a) = 0.005, 325.5, 0.1 ms\n"
    accepted = SLOT + "draft acceptance = 0.64479 (  167 accepted /   259 generated), mean acceptance length =  2.92, "
    accepted += "acceptance rate per position = (0.805, 0.632, 0.483)\n"
    text = EVAL + accepted + statistics.format(n=1, d=87, g=259) + EVAL + accepted
    reading = read(text + statistics.format(n=2, d=170, g=518))
    assert [w.counts.drafts for w in reading.decode if w.counts] == [87, 83]
    first = reading.decode[0].counts
    assert first is not None
    assert first.per_position == pytest.approx((0.805, 0.632, 0.483))
    assert "mean acceptance length" in text.split("\n")[reading.decode[0].shows_acceptance - 1]
    assert reading.decode[0].accept_length == pytest.approx(2.92, abs=0.005)
    assert reading.version_range == ">=8408,<11434"
    assert [n.kind for n in reading.notices] == ["draft-statistics"]


def test_requests_side_by_side_are_counted_and_only_steady_ones_are_clean() -> None:
    launch = "slot launch_slot_: id  {s} | task {s} | processing task\n"
    release = "slot      release: id  {s} | task {s} | stop processing: n_tokens = 300, truncated = 0\n"
    timing = EVAL.replace("id  0 | task 0", "id  {s} | task {s}")
    text = launch.format(s=0) + launch.format(s=1) + timing.format(s=0) + release.format(s=0)
    text += timing.format(s=1) + release.format(s=1)
    first, second = read(text).decode
    assert (first.running, first.clean) == (2, False)
    assert (second.running, second.clean) == (2, False)
    assert first.throughput_tok_s == pytest.approx(2 * 111.46)


def test_the_example_programs_print_one_block_for_the_run() -> None:
    text = "main: build = 1470 (a1b2c3d)\nencoded   13 tokens in    0.500 seconds, speed:   26.000 t/s\n"
    text += "decoded  257 tokens in    10.000 seconds, speed:   25.700 t/s\n\n"
    text += "n_draft   = 8\nn_predict = 257\nn_drafted = 400\nn_accept  = 157\naccept    = 39.250%\n"
    (window,) = read(text).decode
    assert (window.throughput_tok_s, window.strict_rate) == (25.7, pytest.approx(157 / 400))
    assert window.accept_length == pytest.approx(257 / 100)


@pytest.mark.parametrize(
    ("line", "meaning", "cause"),
    [
        ('error while handling argument "--draft-max": the argument has been removed. use --spec-draft-n-max or x',
         "the flag --draft-max was removed from this build (use --spec-draft-n-max or x)", None),
        ("error: invalid argument: --draft-model", "this build does not know the flag --draft-model", None),
        (("main: error: draft model vocab must match target model to use speculation but target vocab size 152064 does "
         "not match draft vocab size 32002"), "target and draft have different tokenizers (152064 and 32002 entries)",
         "MIS-1"),
        (("llama_model_load: error loading model: error loading model architecture: unknown model architecture: "
         "'eagle3'"), "this build does not know the architecture eagle3 of the file", "COMPAT-2"),
        (("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 20480.00 MiB on device 0: cudaMalloc failed: out of "
         "memory\nsrv    load_model: failed to load model, '/m.gguf'\nmain: exiting due to model loading error"),
         "there is not enough memory for the weights and contexts of target and draft", "MEM-1"),
        ("main: exiting due to model loading error", "the server ended because a model could not be loaded", None),
        ("srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080",
         "the port 8080 is taken by another process", None),
    ],
)  # fmt: skip
def test_known_failures(line: str, meaning: str, cause: str | None) -> None:
    failure = engine.explain_failure(f"main: build = 9500 (a1b2c3d)\n{line}\n")
    assert failure is not None
    assert (failure.meaning, failure.cause) == (meaning, cause)


def test_carriers_and_colours_around_a_line_do_not_matter() -> None:
    log = log_of("eagle3")
    plain = read(log)
    for carry in ("2026-11-29T18:46:54.123456Z stderr F ", "llama-1  | ", "Nov 29 18:46:54 box llama[7]: "):
        carried = read("".join(f"{carry}{line}\n" for line in log.rstrip("\n").split("\n")))
        assert [w.counts for w in carried.decode] == [w.counts for w in plain.decode]
        assert carried.ready_line == plain.ready_line
    coloured = read("".join(f"\x1b[34m{line}\x1b[0m\r\n" for line in log.rstrip("\n").split("\n")))
    assert [w.counts for w in coloured.decode] == [w.counts for w in plain.decode]


def test_the_last_of_several_starts_is_told() -> None:
    reading = read(log_of("eagle3") + log_of("draft_othertok"))
    assert reading.counts is None
    assert reading.server_args is not None
    assert reading.server_args["model_draft"] == "/models/tiny-draft-othertok.gguf"
