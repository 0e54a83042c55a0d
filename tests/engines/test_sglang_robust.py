"""The adapter against arbitrary text: it may know nothing, but it never fails, and never takes long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdoctor.core.facts import Facts, LogFacts, ProcessFacts
from specdoctor.engines.sglang import engine
from specdoctor.engines.sglang_decode import log_accept_length, log_step_ms
from specdoctor.engines.sglang_script import launch_lines
from specdoctor.engines.sglang_server_args import parse_server_args
from tests.engines.sglang_data import excerpt

LOG = excerpt("adjusted.log.txt")
FRAGMENTS = st.sampled_from(
    [
        "Decode batch, #running-req: ", "Decode batch. ", "Prefill batch, #new-seq: ", "gen throughput (token/s): ",
        "#queue-req: ", "accept len: ", "accept rate: ", "#token: ", "server_args=ServerArgs(", "server_args={'",
        "[2026-11-29 18:46:54 TP0] ", "[9999-99-99 99:99:99] ", "Traceback (most recent call last):\n", "\n", "\r",
        ", ",
        "ValueError: x\n", "Scheduler hit an exception: ", "Load weight end. type=A", "Capture draft cuda graph begin.",
        "bs=[1, 2", "elapsed=1.5 s", "max_total_num_tokens=1, max_running_requests=9", '{"log":"', "\x1b[31m", "1e999",
        "nan", "99999999999999999999999999", "-1", "'", '"', "(", "[", "{", "\\", "--speculative-num-steps", "=",
        "sglang serve ", "python3 -m sglang.launch_server ", "docker run ", "&&", "$X", "${",
        "Engine startup timings (s): a=1.0",
    ]
)  # fmt: skip
SOUP = st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=40).map("".join)


@given(SOUP)
def test_any_log_is_read(text: str) -> None:
    reading = engine.read_log(text, where="server.log")
    assert reading.lines == text.count("\n") + (0 if text.endswith("\n") or not text else 1)
    lines = text.split("\n")
    assert all(1 <= w.line <= len(lines) for w in reading.decode)
    assert all(p.line is not None and p.quote in lines[p.line - 1] for p in reading.version_proofs)
    assert all(n.text in lines[n.line - 1] for n in reading.notices)
    if reading.failure is not None:
        assert reading.failure.quote in lines[reading.failure.line - 1]
    log_accept_length(reading)
    log_step_ms(reading)
    reading.model_dump_json()


@given(SOUP)
def test_any_text_may_hold_launch_lines_or_arguments(text: str) -> None:
    assert all(launch.line >= 1 for launch in launch_lines(text))
    found = parse_server_args(text)
    assert found is None or all(name.isidentifier() for name in found.values)


@given(st.dictionaries(st.sampled_from(["server.log", "a.sh", "info.json", "notes.txt"]), SOUP))
def test_any_folder_is_read(texts: dict[str, str]) -> None:
    view = engine.view_from_files(texts)
    assert view is None or view.engine == "sglang"


@given(st.lists(SOUP, max_size=5), SOUP)
def test_any_process_and_log_is_read(argv: list[str], log: str) -> None:
    process = ProcessFacts(pid=2, ppid=1, start_ticks=1, argv=("sglang", "serve", *argv))
    facts = Facts(processes=(process,), logs=(LogFacts(path="/l", pid=2, head=log),))
    (view,) = engine.servers(facts)
    assert view.argv == process.argv


@settings(max_examples=30)
@given(st.integers(min_value=0, max_value=len(LOG)), st.integers(min_value=0, max_value=len(LOG)))
def test_any_part_of_a_real_log_is_read(start: int, end: int) -> None:
    reading = engine.read_log(LOG[start:end], where="server.log")
    assert reading.version_range is None or reading.version_range.startswith((">=", "<"))


@pytest.mark.slow
def test_time_grows_with_length_only() -> None:
    """Long lines, long tracebacks and many lines are all read in linear time."""
    texts = [
        LOG * 60,
        "Traceback (most recent call last):\n" + '  File "a.py", line 1, in f\n' * 30_000,
        "x" * 3_000_000,
        "ValueError: x\n" * 60_000,
        "server_args=ServerArgs(" + "a=[(" * 200_000,
        "[2026-01-01 00:00:00] Capture " + "draft " * 200_000,
    ]
    for text in texts:
        began = time.process_time()
        engine.read_log(text, where="server.log")
        engine.explain_failure(text)
        assert time.process_time() - began < 5.0
