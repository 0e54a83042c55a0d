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
