"""Logs of vLLM: real ones of 0.32.0, and lines of other versions in the forms that their source prints."""

from __future__ import annotations

import pytest

from specdoctor.core.server import LogReading
from specdoctor.engines.vllm import engine
from specdoctor.engines.vllm_counters import read_counters
from specdoctor.engines.vllm_prefix import split_line
from tests.engines.vllm_data import excerpt

INIT = (
    "(EngineCore_DP0 pid=9) INFO 03-02 10:20:00 [core.py:97] Initializing a V1 LLM engine (v{version}) with config: "
    "model='/m', speculative_config=SpeculativeConfig(method='eagle3', model='/d', num_spec_tokens=3), dtype=torch."
    "bfloat16, max_seq_len=4096, enforce_eager=False, compilation_config={{'cudagraph_mode': <CUDAGraphMode.FULL_AND_"
    "PIECEWISE: (2, 1)>, 'cudagraph_capture_sizes': [1, 2, 4, 8, 16, 32], 'max_cudagraph_capture_size': 32}}\n"
)
ENGINE = (
    "INFO 03-02 10:20:{s:02d} [loggers.py:257] Engine {e:03d}: Avg prompt throughput: 13.3 tokens/s, Avg generation "
    "throughput: {tok} tokens/s, Running: {run} reqs, Waiting: {wait} reqs, {tail}GPU KV cache usage: 12.5%, Prefix "
    "cache hit rate: 0.0%\n"
)
NEW = (
    "INFO 03-02 10:20:00 [metrics.py:100] SpecDecoding metrics: Mean acceptance length: {mal}, Accepted throughput: "
    "1.00 tokens/s, Drafted throughput: 1.00 tokens/s, Accepted: {acc} tokens, Drafted: {dr} tokens, Per-position "
    "acceptance rate: {pos}, Avg Draft acceptance rate: {rate}%\n"
)
OLD = (
    "INFO 06-06 14:17:00 [metrics.py:87] SpecDecoding metrics: Draft acceptance rate: {rate}%, Mean acceptance length: "
    "{mal}, Accepted: {acc} tokens, Drafted: {dr} tokens, Per-position acceptance rate: {pos}\n"
)


def read(text: str) -> LogReading:
    return engine.read_log(text, where="server.log")


def engine_line(s: int, *, e: int = 0, tok: float = 100.0, run: int = 1, wait: int = 0, tail: str = "") -> str:
    return ENGINE.format(s=s, e=e, tok=tok, run=run, wait=wait, tail=tail)


def test_a_real_log_gives_version_settings_acceptance_and_phases() -> None:
    reading = read(excerpt("eagle3.log.txt"))
    assert reading.version == "0.32.0"
    assert reading.version_source is not None
    assert "0.32.0" in reading.version_source.quote
    values = reading.server_args or {}
    assert values["speculative_config.method"] == "eagle3"
    assert values["speculative_config.model"] == "/models/tiny-eagle3"
    assert values["speculative_config.num_speculative_tokens"] == 3
    assert values["max_model_len"] == 1024
    assert values["compilation_config.cudagraph_mode"] == "NONE"
    assert (reading.asked_args or {})["max_num_seqs"] == 8
    assert reading.weight_classes == ("LlamaForCausalLM", "LlamaForCausalLMEagle3")
    assert reading.ready_line is not None
    assert reading.shutdown_line is not None
    assert reading.failure is None
    assert reading.start.total_s == 19.0
    kinds = {notice.kind for notice in reading.notices}
    assert {"runner-v1", "aux-layers", "kv-size", "drafter-loading", "draft-shares", "draft-keeps"} <= kinds
    (layers,) = (notice for notice in reading.notices if notice.kind == "aux-layers")
    assert layers.text == "Using auxiliary layers from speculative config: (2, 4, 6)"


@pytest.mark.parametrize("name", ["eagle3", "ngram"])
def test_the_log_counts_what_the_counters_count(name: str) -> None:
    """The log ends a little after the counters were read: its counts hold theirs and few more."""
    counts = read(excerpt(f"{name}.log.txt")).counts
    counters = read_counters(excerpt(f"{name}.metrics.prom"))
    assert counts is not None
    assert counters is not None
    assert counts.drafts is not None
    assert counters.drafts is not None
    assert 0 <= counts.drafts - counters.drafts <= 0.06 * counters.drafts
    assert counts.accepted >= counters.accepted
    assert counts.accept_length == pytest.approx(counters.accept_length, rel=0.02)
    assert counts.per_position == pytest.approx(counters.per_position, abs=0.03)


def test_without_speculation_there_are_windows_and_no_counts() -> None:
    reading = read(excerpt("baseline.log.txt"))
    assert reading.counts is None
    assert len(reading.decode) == 10
    assert all(w.accept_length is None for w in reading.decode)
    assert (reading.server_args or {})["speculative_config"] is None


def test_windows_hold_load_and_counts_of_their_interval() -> None:
    text = INIT.format(version="0.16.0") + engine_line(10, tok=50.0)
    text += engine_line(20, run=2, wait=3) + NEW.format(
        mal=2.5, acc=150, dr=300, pos="0.800, 0.500, 0.200", rate="50.0"
    )
    text += engine_line(30, tail="Preemptions: 4, ")
    first, second, third = read(text).decode
    assert (first.clean, second.clean, third.clean) == (False, True, False)
    assert second.counts is not None
    assert (second.counts.drafts, second.counts.drafted, second.counts.accepted) == (100, 300, 150)
    assert second.accept_length == 2.5
    assert second.strict_rate == 0.5
    assert (second.running, second.queue, second.kv_usage, second.prompt_tok_s) == (2, 3, 0.125, 13.3)
    assert third.preemptions == 4
    assert third.counts is None


def test_intervals_are_pooled_by_drafts() -> None:
    text = engine_line(10) + NEW.format(mal=3.0, acc=200, dr=300, pos="0.900, 0.700, 0.400", rate="66.7")
    text += engine_line(20) + NEW.format(mal=1.5, acc=450, dr=2700, pos="0.300, 0.150, 0.050", rate="16.7")
    counts = read(text).counts
    assert counts is not None
    assert counts.drafts == 1000
    assert counts.accept_length == pytest.approx(1.65)


def test_shorter_drafts_are_found_within_the_printed_figures() -> None:
    """94 drafts of at most 4 tokens, 250 drafted: fewer than 4 x 94."""
    drafts, by_position = 94, (60, 41, 22, 7)
    accepted = sum(by_position)
    rates = ", ".join(f"{n / drafts:.3f}" for n in by_position)
    line = NEW.format(mal=f"{1 + accepted / drafts:.2f}", acc=accepted, dr=250, pos=rates, rate="52.0")
    counts = read(engine_line(10) + line).counts
    assert counts is not None
    assert counts.drafts == pytest.approx(drafts, abs=1)
    assert counts.accept_length == pytest.approx(1 + accepted / drafts, abs=0.01)


@pytest.mark.parametrize(
    ("printed", "without_bonus"), [("1.75", True), ("2.75", False)], ids=["0.8.5", "0.9.0 to 0.10.0"]
)
def test_the_older_order_with_and_without_the_bonus_token(printed: str, without_bonus: bool) -> None:
    line = OLD.format(rate="58.3", mal=printed, acc=175, dr=300, pos="0.800, 0.600, 0.350")
    reading = read(engine_line(10) + line)
    assert reading.decode[0].accept_length == 2.75
    assert reading.counts is not None
    assert reading.counts.accept_length == 2.75
    assert reading.version_range == ("<0.9.0" if without_bonus else "<0.10.2")


def test_totals_of_the_older_engine_become_intervals() -> None:
    head = "INFO 02-18 16:02:15 [metrics.py:455] Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 176.5 "
    head += "tokens/s, Running: 6 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: 2.4%, CPU KV cache "
    head += "usage: 0.0%.\n"
    spec = "INFO 02-18 16:02:15 [metrics.py:471] Speculative metrics: Draft acceptance rate: 0.809, System efficiency: "
    spec += (
        "0.905, Number of speculative tokens: 3, Number of accepted tokens: {a}, Number of draft tokens: {d}, Number "
    )
    spec += "of emitted tokens: {e}.\n"
    start = "INFO 02-18 16:02:10 [llm_engine.py:234] Initializing a V0 LLM engine (v0.7.3) with config: model='/m', "
    start += "speculative_config=SpeculativeConfig(draft_model='/d', num_spec_tokens=3), dtype=torch.bfloat16\n"
    text = start + head + spec.format(a=210, d=300, e=280) + head + spec.format(a=400, d=900, e=580)
    reading = read(text)
    first, second = reading.decode
    assert first.accept_length == pytest.approx(2.8)
    assert second.accept_length == pytest.approx(300 / 200)
    assert (first.running, first.queue) == (6, 2)
    assert reading.counts is not None
    assert reading.counts.accept_length == pytest.approx(580 / 300)
    assert reading.version == "0.7.3"
    assert (reading.server_args or {})["speculative_config.model"] == "/d"


def test_several_engines_keep_their_own_counts() -> None:
    a = NEW.format(mal=3.0, acc=200, dr=300, pos="0.900, 0.700, 0.400", rate="66.7")
    b = NEW.format(mal=1.0, acc=0, dr=300, pos="0.000, 0.000, 0.000", rate="0.0")
    reading = read(engine_line(10) + a + engine_line(10, e=1) + b)
    assert [(w.rank, w.accept_length) for w in reading.decode] == [("000", 3.0), ("001", 1.0)]
    assert reading.counts is not None
    assert reading.counts.drafts == 200


def test_captured_graphs_are_counted_in_requests() -> None:
    text = INIT.format(version="0.16.0")
    text += "Capturing CUDA graphs (decode, FULL): 100%|####| 6/6 [00:03<00:00, 2.1it/s]\n"
    text += (
        "(Worker_TP0 pid=1) INFO 03-02 10:20:41 [gpu_model_runner.py:5402] Graph capturing finished in 11 secs, took "
    )
    text += "0.7 GiB\n"
    (graph,) = read(text).graphs
    assert (graph.tokens_per_request, graph.max_batch, graph.elapsed_s, graph.finished) == (4, 8, 11.0, True)


def test_the_last_of_several_starts_counts() -> None:
    old = INIT.format(version="0.15.0") + "INFO:     Application startup complete.\n" + engine_line(10)
    old += NEW.format(mal=3.0, acc=200, dr=300, pos="0.900, 0.700, 0.400", rate="66.7")
    old += "INFO:     Shutting down\n"
    reading = read(old + INIT.format(version="0.16.0") + "INFO:     Application startup complete.\n" + engine_line(20))
    assert reading.version == "0.16.0"
    assert reading.counts is None
    assert len(reading.decode) == 1
    assert reading.shutdown_line is None


@pytest.mark.parametrize(
    ("raw", "process", "message"),
    [
        ("(EngineCore_DP0 pid=5) INFO 03-02 10:20:00 [core.py:97] hello", "EngineCore_DP0", "hello"),
        ("INFO 10-05 12:00:00 api_server.py:526] hello", "", "hello"),
        ("\x1b[1;36m(Worker_TP1 pid=7)\x1b[0;0m WARNING 03-02 10:20:00 [a.py:1] hello", "Worker_TP1", "hello"),
        ("vllm-1  | (APIServer pid=1) INFO 03-02 10:20:00 [a.py:1] hello", "APIServer", "hello"),
        ("2026-03-02T10:20:00.123456789Z stdout F INFO 03-02 10:20:00 [a.py:1] hello", "", "hello"),
        (
            "Mar  2 10:20:00 gpu1 vllm[7222]: (APIServer pid=7222) ERROR 03-02 10:20:00 [a.py:1] hello",
            "APIServer",
            "hello",
        ),
        ("(RayWorkerWrapper pid=9, ip=10.0.0.1) INFO 03-02 10:20:00 [a.py:1] hello\r", "RayWorkerWrapper", "hello"),
        ('{"log":"INFO 03-02 10:20:00 [a.py:1] hello\\n","stream":"stderr"}', "", "hello"),
        (
            "(APIServer pid=511) INFO:     Application startup complete.",
            "APIServer",
            "INFO:     Application startup complete.",
        ),
    ],
)
def test_carriers_are_taken_off(raw: str, process: str, message: str) -> None:
    line = split_line(raw)
    assert (line.process, line.message) == (process, message)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Async scheduling not supported with ngram-based speculative decoding and will be disabled.", "async-off"),
        ("Asynchronous scheduling is enabled.", "async-state"),
        (
            (
                "CUDAGraphMode.FULL_AND_PIECEWISE is not supported with spec-decode for attention backend TRITON "
                "(support: "
                "AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE); setting cudagraph_mode=PIECEWISE"
            ),
            "graph-mode",
        ),
        ("Truncating max_cudagraph_capture_size to 32", "graph-limit"),
        ("Overriding draft model max model len from 131072 to 16384", "draft-max-len"),
        (
            (
                "Overriding draft model max_position_embeddings from 2048 to the target model's max_model_len (32768); "
                "EAGLE "
                "drafts share the target's positional space."
            ),
            "draft-positions",
        ),
        ("method `deepseek_mtp` is deprecated and replaced with mtp.", "method-renamed"),
        ("Defaulted num_speculative_tokens to 24 for suffix decoding.", "tokens-defaulted"),
        ("Using Eagle3 auxiliary layers from model: (2, 16, 29)", "aux-layers"),
        ("Model Runner V2 does not yet support suffix; using the V1 model runner instead.", "runner-v1"),
        (
            (
                "Enabling num_speculative_tokens > 1 will run multiple times of forward on same MTP layer,which may "
                "result in "
                "lower acceptance rate"
            ),
            "mtp-repeats",
        ),
        (
            (
                "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To "
                "silence this "
                "warning, specify disable_custom_all_reduce=True explicitly."
            ),
            "allreduce-off",
        ),
    ],
)
def test_lines_that_matter_are_noted(line: str, kind: str) -> None:
    text = f"(APIServer pid=1) WARNING 03-02 10:20:00 [vllm.py:1] {line}\n"
    (notice,) = read(text).notices
    assert notice.kind == kind
    assert notice.text in text
