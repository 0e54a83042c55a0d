"""A launch line beside the log of another server, in every engine; a value that the engine replaced is none."""

from __future__ import annotations

import pytest

from specdoctor.app.triage import TriageDocument
from specdoctor.assembly.judging import triaged

DECODE = (
    "[2026-12-01 02:29:28] Decode batch, #running-req: 1, #token: 59, token usage: 0.00, accept len: 2.56, "
    "accept rate: 0.31, cuda graph: True, gen throughput (token/s): 72.70, #queue-req: 0\n"
)
ARGS = (
    "[2026-12-01 01:45:16] server_args=ServerArgs(model_path='/root/.cache/hub/models--Qwen--Qwen3-8B/snapshots/0a1b', "
    "port=30000, tp_size=1, disable_cuda_graph=False, attention_backend='fa3', speculative_algorithm='EAGLE3', "
    "speculative_num_steps=5, speculative_eagle_topk=1, speculative_num_draft_tokens=6)\n"
)
VLLM = (
    "INFO 12-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\n"
    "INFO 12-01 10:00:00 [utils.py:1] non-default args: {'model': '/m/Qwen3-8B', 'tensor_parallel_size': 1}\n"
    "INFO 12-01 10:00:20 [api_server.py:2] Starting vLLM API server 0 on http://0.0.0.0:8001\n"
)
LLAMA = (
    "build: 6600 (0123abcd) with cc for x86_64-linux-gnu\n"
    "llama_model_loader: loaded meta data with 30 key-value pairs and 399 tensors from "
    "/m/Qwen3-8B.gguf (version GGUF V3)\n"
    "main: server is listening on http://127.0.0.1:8085 - starting the main loop\n"
)
SGLANG = "python3 -m sglang.launch_server --speculative-algorithm EAGLE3 --speculative-num-steps 5 --model-path "
CHAIN_OF_16 = "--speculative-eagle-topk 1 --speculative-num-draft-tokens 16"


VLLM_SEATS = VLLM.replace("_size': 1}", "_size': 1, 'max_num_seqs': 8, 'enforce_eager': True}")
LLAMA_NEW = (
    "0.00.01 I cmn          init: llama threadpool init, n_threads = 4\n"
    "0.00.02 I srv    load_model: loading model '/m/Qwen3-8B.gguf'\n"
    "0.00.03 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 2048, kv_unified = 'false'\n"
    "0.00.03 I llama_context: n_ctx         = 4096\n"
    "0.00.04 I srv  llama_server: listening on http://127.0.0.1:8141\n"
)


def judged(log: str, launch: str) -> TriageDocument:
    return triaged({"server.log": log, "launch.sh": launch + "\n"}, symptom="it is slow")


@pytest.mark.parametrize(
    ("log", "launch", "against"),
    [
        (ARGS + DECODE * 9, f"{SGLANG} /m/DeepSeek-V3 --tp 8", "model /m/DeepSeek-V3 against"),
        (ARGS + DECODE * 9, f"{SGLANG} /m/Qwen3-8B --port 30001", "port 30001 against 30000"),
        (ARGS + DECODE * 9, f"{SGLANG} /m/Qwen3-8B --tp 8", "tensor-parallel size 8 against 1"),
        (VLLM, "vllm serve /m/Qwen3-32B --max-num-seqs 8", "model /m/Qwen3-32B against /m/Qwen3-8B"),
        (VLLM, "vllm serve /m/Qwen3-8B --port 8000 --max-num-seqs 8", "port 8000 against 8001"),
        (LLAMA, "llama-server -m /m/Qwen3-8B.gguf --port 8080 --draft-max 8", "port 8080 against 8085"),
    ],
)
def test_a_line_that_did_not_start_the_server_is_compared_with_nothing(log: str, launch: str, against: str) -> None:
    document = judged(log, launch)
    assert document.contradicted[0].startswith("launch.sh:1 did not start the server of server.log: ")
    assert against in document.contradicted[0]
    assert not {"CFG-1", "CFG-3"} & {f.cause for f in document.findings}
    line = "the launch line of the server of server.log: only it says what was asked for"
    assert (line in document.missing) == (log != VLLM), "vLLM's log names what was asked for"
    assert document.to_try is None


def test_what_an_engine_may_replace_is_compared_as_before() -> None:
    document = judged(ARGS + DECODE * 9, f"{SGLANG} Qwen/Qwen3-8B --port 30000 {CHAIN_OF_16}")
    assert document.contradicted == ()
    assert {f.cause for f in document.findings if f.status == "supported"} >= {"CFG-3"}


def test_of_two_lines_the_one_of_this_server_is_taken() -> None:
    other = f"{SGLANG} /m/DeepSeek-V3 --port 30001 --speculative-eagle-topk 1"
    document = judged(ARGS + DECODE * 9, f"{other}\n{SGLANG} $MODEL {CHAIN_OF_16}")
    assert document.contradicted == ()
    assert {f.cause for f in document.findings if f.status == "supported"} >= {"CFG-3"}


PLAIN = "python3 -m sglang.launch_server --served-model-name q --model-path /m/Qwen3-8B"
RECORDED = ARGS.replace("port=30000", "host='127.0.0.1', speculative_draft_model_path='/m/head', port=30000")
VLLM_DRAFTS = VLLM.replace("_size': 1}", "_size': 1, 'speculative_config': {'method': 'eagle3', 'model': '/m/e3', "
                           "'num_speculative_tokens': 3}}")  # fmt: skip
FIVE_JSON = '{"method": "eagle3", "model": "/m/e3", "num_speculative_tokens": 5}'
FIVE = f"vllm serve /m/Qwen3-8B --speculative-config '{FIVE_JSON}'"


@pytest.mark.parametrize(
    ("log", "launch", "against"),
    [
        (ARGS, f"{PLAIN} --speculative-algorithm EAGLE3 --speculative-num-steps 3", "draft steps 3 against 5"),
        (ARGS, f"{SGLANG} /m/Qwen3-8B --speculative-eagle-topk 4", "topk 4 against 1"),
        (ARGS, PLAIN, "no speculation against speculation"),
        (ARGS.replace("'EAGLE3'", "None"), f"{SGLANG} /m/Qwen3-8B", ": speculation against no speculation"),
        (RECORDED, f"{SGLANG} /m/Qwen3-8B --host 0.0.0.0", "host 0.0.0.0 against 127.0.0.1"),
        (RECORDED, f"{SGLANG} /m/Qwen3-8B --speculative-draft-model-path /m/other", "draft model /m/other against"),
        (VLLM_DRAFTS, FIVE, "draft tokens 5 against 3"),
        (VLLM_DRAFTS, "vllm serve /m/Qwen3-8B", "no speculation against speculation"),
    ],
)  # fmt: skip
def test_the_same_model_with_settings_that_no_rule_replaces_is_another_launch(
    log: str, launch: str, against: str
) -> None:
    document = judged(log + DECODE * 9 * (log[0] == "["), launch)
    assert against in document.contradicted[0]
    assert not {"CFG-1", "CFG-3"} & {f.cause for f in document.findings}
    assert document.to_try is None


def test_of_two_lines_that_fit_the_one_dated_after_the_log_is_a_plan() -> None:
    plan = f"# for 2026-12-05 09:00\n{SGLANG} /m/Qwen3-8B {CHAIN_OF_16}"
    used = f"# 2026-12-01\n{SGLANG} /m/Qwen3-8B --speculative-eagle-topk 1 --speculative-num-draft-tokens 6"
    for text in (f"{plan}\n\n{used}", f"{used}\n\n{plan}"):
        document = judged(ARGS + DECODE * 9, text)
        assert "CFG-3" not in {f.cause for f in document.findings if f.status == "supported"}
    alone = judged(ARGS + DECODE * 9, plan)
    assert "CFG-3" in {f.cause for f in alone.findings}, "a date alone proves nothing"


def test_among_many_lines_of_others_the_one_of_this_server_is_found() -> None:
    others = [f"{SGLANG} /m/Qwen3-8B --port {31000 + n}" for n in range(30)]
    document = judged(ARGS + DECODE * 9, "\n".join([*others, f"{SGLANG} /m/Qwen3-8B {CHAIN_OF_16} --port 30000"]))
    assert {f.cause for f in document.findings if f.status == "supported"} >= {"CFG-3"}
    document = judged(ARGS + DECODE * 9, "\n".join(others))
    assert document.contradicted
    assert document.to_try is None


ON_3100 = ARGS.replace("port=30000", "port=31000, decode_log_interval=40, random_seed=7, mem_fraction_static=0.8")
GRAPHS_OFF = ARGS.replace("disable_cuda_graph=False", "disable_cuda_graph=True")
SERVE = "vllm serve /m/Qwen3-8B --tensor-parallel-size 1 --port 8001"
LLAMA_SERVER = "llama-server -m /m/Qwen3-8B.gguf"


@pytest.mark.parametrize(
    ("log", "launch", "against"),
    [
        (ON_3100, f"{SGLANG} /m/Qwen3-8B", "port not given against 31000"),
        (ARGS.replace("tp_size=1", "tp_size=8"), f"{SGLANG} /m/Qwen3-8B", "tensor-parallel size not given against 8"),
        (ARGS, f"{SGLANG} /m/Qwen3-8B --disable-cuda-graph", "disable_cuda_graph True against False"),
        (GRAPHS_OFF, f"{SGLANG} /m/Qwen3-8B", "disable_cuda_graph not given against True"),
        (ON_3100, f"{SGLANG} /m/Qwen3-8B --port 31000 --decode-log-interval 10", "decode_log_interval 10 against 40"),
        (ON_3100, f"{SGLANG} /m/Qwen3-8B --port 31000 --random-seed 3", "random_seed 3 against 7"),
        (VLLM, "vllm serve /m/Qwen3-8B", "port not given against 8001"),
        (VLLM, f"{SERVE} --max-num-seqs 8", "max_num_seqs 8 against the default"),
        (VLLM, f"{SERVE} --enforce-eager", "enforce_eager True against False"),
        (VLLM_SEATS, SERVE, "max_num_seqs not given against 8"),
        (VLLM_SEATS, f"{SERVE} --max-num-seqs 8", "enforce_eager not given against True"),
        (VLLM_SEATS, f"{SERVE} --max-num-seqs 16 --enforce-eager", "max_num_seqs 16 against 8"),
        (LLAMA, LLAMA_SERVER, "port not given against 8085"),
        (LLAMA_NEW, f"{LLAMA_SERVER} --port 8080", "port 8080 against 8141"),
        (LLAMA_NEW, f"{LLAMA_SERVER} --port 8141 -np 4", "parallel 4 against 2"),
        (LLAMA_NEW, f"{LLAMA_SERVER} --port 8141 -t 8", "threads 8 against 4"),
        (LLAMA_NEW, f"{LLAMA_SERVER} --port 8141 -c 16384", "ctx_size 16384 against 4096"),
        (LLAMA_NEW, f"{LLAMA_SERVER} --port 8141 --host 0.0.0.0", "host 0.0.0.0 against 127.0.0.1"),
    ],
)  # fmt: skip
def test_what_both_sides_can_state_is_compared_in_either_direction(log: str, launch: str, against: str) -> None:
    document = judged(log + DECODE * 9 * (log[0] == "["), launch)
    assert document.contradicted, "nothing was compared"
    assert against in document.contradicted[0]


@pytest.mark.parametrize(
    ("log", "launch"),
    [
        (ON_3100, f"{SGLANG} /m/Qwen3-8B --port 31000"),
        (ON_3100, f"{SGLANG} /m/Qwen3-8B $MORE"),
        (ON_3100, f"{SGLANG} /m/Qwen3-8B --config args.yaml"),
        (ON_3100, f"{SGLANG} /m/Qwen3-8B --port $PORT"),
        (VLLM_SEATS, f"{SERVE} --max-num-seqs 8 --enforce-eager --gpu-memory-utilization 0.9 --host 0.0.0.0"),
        (LLAMA_NEW, f"{LLAMA_SERVER} --port 8141 -c 4000 -np 2 -t 4"),
        (LLAMA_NEW, f"{LLAMA_SERVER} --port 8141 -c 0 -np -1 -t -1"),
    ],
)
def test_what_an_engine_fills_in_and_what_is_not_known_contradicts_nothing(log: str, launch: str) -> None:
    assert judged(log + DECODE * 9 * (log[0] == "["), launch).contradicted == ()


def test_a_typed_value_that_an_engine_may_have_changed_is_named_and_proves_no_other_launch() -> None:
    document = judged(ON_3100 + DECODE * 9, f"{SGLANG} /m/Qwen3-8B --port 31000 --mem-fraction-static 0.9")
    (said,) = document.contradicted
    assert said.startswith("mem_fraction_static 0.9 is typed, 0.8 is in force [launch.sh:1, server.log:1]")
    assert document.to_try is not None or not any(f.fix and f.status == "supported" for f in document.findings)
