"""The adapter against arbitrary text: it may know nothing, but it never fails, and never takes long."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core.facts import Facts, LogFacts, ProcessFacts
from specdoctor.engines.vllm import engine

FRAGMENTS = st.sampled_from(
    [
        "Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: ", "2.5 tokens/s, Running: ",
        "1 reqs, Waiting: 0 reqs, ", "GPU KV cache usage: 5%", "SpecDecoding metrics: Mean acceptance length: ",
        "SpecDecoding metrics: Draft acceptance rate: 50.0%, Mean acceptance length: nan, ", "Accepted: 5 tokens, ",
        "Drafted: 9 tokens, Per-position acceptance rate: 0.5, 0.1", ", Avg Draft acceptance rate: 3%",
        "Speculative metrics: Draft acceptance rate: 0.5, System efficiency: 0.5, Number of speculative tokens: 0, ",
        "Number of accepted tokens: 1, Number of draft tokens: 2, Number of emitted tokens: 3.",
        "Initializing a V1 LLM engine (v0.32.0) with config: model='", "speculative_config=SpeculativeConfig(",
        "non-default args: {'", "non-default args: {", "(EngineCore pid=1) ERROR 03-02 10:20:00 [core.py:1] ",
        "INFO 99-99 99:99:99 [x] ", "Traceback (most recent call last):\n", "ValueError: x\n", "EngineDeadError\n",
        "Application startup complete", "Graph capturing finished in 3 secs",
        "Model Runner V2 a; using the V1 model runner", " instead", "auxiliary layers from config: (", "vllm serve ",
        "--speculative-config ", "'{\"method\":",
        "\n", "\r", "{", "}", "(", "<", "\\", "'", '"', "99999999999999999999", "nan", "-1",
        "vllm:spec_decode_num_drafts_total{", "} 1e999",
        '{"vllm_config": ', '{"log":"', "\x1b[31m", "docker run vllm/vllm-openai:v0.1 ", "$X", "${",
    ]
)  # fmt: skip
SOUP = st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=40).map("".join)


@given(SOUP)
def test_any_log_is_read(text: str) -> None:
    reading = engine.read_log(text, where="server.log")
    lines = text.split("\n")
    assert all(1 <= w.line <= len(lines) for w in reading.decode)
    assert all(p.line is not None and p.quote in lines[p.line - 1] for p in reading.version_proofs)
    assert all(n.text in lines[n.line - 1] for n in reading.notices)
    if reading.failure is not None:
        assert reading.failure.quote in lines[reading.failure.line - 1]
    reading.model_dump_json()


@given(st.dictionaries(st.sampled_from(["server.log", "a.sh", "info.json", "metrics.prom", "notes.txt"]), SOUP))
def test_any_folder_is_read(texts: dict[str, str]) -> None:
    view = engine.view_from_files(texts)
    assert view is None or view.engine == "vllm"


@given(SOUP, st.lists(st.text(max_size=12), max_size=6))
def test_any_facts_are_read(text: str, words: list[str]) -> None:
    process = ProcessFacts(pid=7, ppid=1, start_ticks=1, argv=("vllm", "serve", *words))
    facts = Facts(processes=(process,), logs=(LogFacts(path="/l", head=text),))
    assert all(view.engine == "vllm" for view in engine.servers(facts))


def test_long_lines_and_many_lines_take_little_time() -> None:
    for text in (
        "x" * 2_000_000,
        "ValueError: " * 100_000,
        "(EngineCore pid=1) ERROR 03-02 10:20:00 [core.py:1] ValueError: mat1 and mat2 shapes cannot be multiplied\n"
        * 3000,
        "SpecDecoding metrics: Mean acceptance length: 1.00, Accepted: 1 tokens, Drafted: 9 tokens, Per-position "
        "acceptance rate: " + "0.5, " * 100_000,
        "\n" * 300_000,
    ):
        begun = time.process_time()
        engine.read_log(text, where="server.log")
        assert time.process_time() - begun < 4.0
