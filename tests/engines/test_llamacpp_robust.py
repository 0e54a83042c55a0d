"""The adapter against arbitrary text: it may know nothing, but it never fails, and never takes long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdoctor.core.facts import Facts, HttpReply, LogFacts, ProcessFacts
from specdoctor.engines.llamacpp import engine
from specdoctor.engines.llamacpp_counters import counts_between, lifetime_counts
from tests.engines.llamacpp_data import log_of

LOG = log_of("eagle3")
FRAGMENTS = st.sampled_from(
    [
        "eval time = ", "prompt eval time = ", " ms / ", " tokens ( ", "1.0 ms per token, ", "5.0 tokens per second)",
        "slot print_timing: id  0 | task 1 | ", "slot launch_slot_: id  0 | task 1 | ", "stop processing", "\n", "\r",
        "draft acceptance = 0.5 ( 3 accepted / 6 generated)", ", mean len = 2.5", "mean acceptance length = 1e999",
        "draft acceptance rate = nan ( 0 accepted / 0 generated)", "acc per pos = (0.1, nan, x)", "#gen drafts = ",
        ("statistics draft-eagle3: #calls(b,g,a) = 1 2 3, #gen drafts = 2, #acc drafts = 1, #gen tokens = 6, "
        "#acc tokens = 3"), "decoded 10 tokens in 1.0 seconds, speed: 10.0 t/s", "n_draft = 8", "n_accept = 9999999",
        "0.00.214.768 I ", "99.99.999.999 E ", "main: build = 1470 (a1b2c3d)", "build: 999999 (abcdef0)",
        "GGML_ASSERT(",
        ") failed", "error loading model: ", "failed to load model", "EAGLE3 extract_layers = [1, 2, 3]", "n_max=",
        "adding speculative implementation 'draft-", "n_slots = 4", "loading draft model '",
        "server is listening on http", "llama-server -m a.gguf ",
        "--spec-type", "--draft-max", "-md", " = ", "$X", "'", '"',
        "[{\"id\":0,\"n_ctx\":1",
        "llamacpp:spec_decode_num_drafts_total 5",
        "llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position=\"1\"} 3",
    ]
)  # fmt: skip
SOUP = st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=40).map("".join)


@given(SOUP)
def test_any_log_is_read(text: str) -> None:
    reading = engine.read_log(text, where="server.log")
    assert reading.lines == text.count("\n") + (0 if text.endswith("\n") or not text else 1)
    lines = text.split("\n")
    assert all(1 <= w.line <= len(lines) and (w.accept_length or 1.0) >= 1.0 for w in reading.decode)
    assert all(p.line is not None and p.quote in lines[p.line - 1] for p in reading.version_proofs)
    assert all(n.text in lines[n.line - 1] for n in reading.notices)
    if reading.failure is not None:
        assert reading.failure.quote in lines[reading.failure.line - 1]
    reading.model_dump_json()


@given(st.dictionaries(st.sampled_from(["server.log", "a.sh", "slots.json", "metrics.txt", "notes.txt"]), SOUP))
def test_any_folder_is_read(texts: dict[str, str]) -> None:
    view = engine.view_from_files(texts)
    assert view is None or view.engine == "llamacpp"


@given(st.lists(SOUP, max_size=5), SOUP, SOUP)
def test_any_process_answer_and_log_is_read(argv: list[str], log: str, body: str) -> None:
    process = ProcessFacts(pid=2, ppid=1, start_ticks=1, argv=("llama-server", *argv))
    replies = {path: HttpReply(status=200, body=body) for path in ("/slots", "/props", "/metrics")}
    facts = Facts(processes=(process,), logs=(LogFacts(path="/l", pid=2, head=log),), http={"8080": replies})
    (view,) = engine.servers(facts)
    assert view.argv == process.argv


@given(SOUP, SOUP)
def test_any_counters_are_read(before: str, after: str) -> None:
    lifetime_counts(after)
    between = counts_between(before, after)
    assert between is None or (between.drafts or 0) >= 0


@settings(max_examples=30)
@given(st.integers(min_value=0, max_value=len(LOG)), st.integers(min_value=0, max_value=len(LOG)))
def test_any_part_of_a_real_log_is_read(start: int, end: int) -> None:
    reading = engine.read_log(LOG[start:end], where="server.log")
    assert reading.version_range is None or reading.version_range.startswith(">=")


@pytest.mark.slow
def test_time_grows_with_length_only() -> None:
    """Long lines and many lines are all read in linear time."""
    texts = [
        LOG * 60,
        "slot print_timing: id  0 | task 1 | eval time = " * 60_000,
        "x" * 3_000_000,
        "GGML_ASSERT(x) failed\n" * 60_000,
        "draft acceptance = 0.5 (" + " 3" * 500_000,
        "acceptance rate per position = (" + "0.1, " * 200_000,
        "statistics " + "a" * 500_000,
        "llamacpp:" + "a" * 500_000,
        "EAGLE3 extract_layers = [" + "1, " * 300_000,
    ]
    for text in texts:
        began = time.process_time()
        engine.read_log(text, where="server.log")
        engine.view_from_files({"a": text})
        engine.explain_failure(text)
        assert time.process_time() - began < 5.0
