"""What a file is, told by its content alone."""

from __future__ import annotations

import json
import time

import pytest

from specdoctor.readers.every import every_reader, material_of

LONGEST_S = 5.0
"""Processor time for a text that a reader must give up on; each takes well under a second on an idle machine."""
LAUNCH = (
    "#!/bin/sh\nexport A=1\npython3 -m sglang.launch_server --model-path /m/big \\\n"
    "  --speculative-draft-model-path /m/small\n"
)
SMI = "index, name, clocks.sm [MHz], power.draw [W], utilization.gpu [%]\n0, GPU, 1410 MHz, 92.14 W, 100 %\n"
TOPO = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tSYS\t0-71\t0\nGPU1\tSYS\tX\t72-143\t1\n"
PROM = (
    '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="m",engine="0"} 3.0\n'
    "vllm:generation_tokens_total 6052.0\n"
)
TENSORS = "fc.weight BF16 [7168, 21504]\nd2t I64 [32000]\nnorm.weight BF16 [7168]\n"
ANSWER = json.dumps({"id": "x", "choices": [{"message": {"role": "assistant", "content": "the the"}}]})
LOG = "[2025-01-01 10:00:00] server_args=ServerArgs(model_path='m')\n[2025-01-01 10:00:09] Load weight end.\n"
CASES = {
    "launch line": LAUNCH,
    "gpu table": SMI,
    "gpu topology": TOPO,
    "counters": PROM,
    "tensor list": TENSORS,
    "answer": ANSWER,
    "server log": LOG,
    "notes": "One user. It runs at 61 tok/s without speculation.\n",
    "request": json.dumps({"messages": [{"role": "user", "content": "hi"}], "temperature": 0}),
    "server info": json.dumps({"model_path": "m", "speculative_algorithm": None, "version": "0.5.3"}),
    "model config": json.dumps({"architectures": ["LlamaForCausalLM"], "hidden_size": 8, "num_hidden_layers": 2}),
    "training record": "target_model_path /m\nttt_length 7\nmax_length 2048\n",
    "engine config": "max_batch_size: 8\nspeculative_config:\n  max_draft_len: 3\n",
    "tokenizer check": "a" * 64 + "  /m/a/tokenizer.json\n" + "a" * 64 + "  /m/b/tokenizer.json\n",
    "script": "#!/bin/sh\npython -m sglang.bench_serving --port 30000\n",
    "table": "config,tok/s\nbase,10\n",
    "bench result": json.dumps(
        {"backend": "vllm", "output_throughput": 94.1, "mean_tpot_ms": 10.0, "max_concurrency": 1}
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_the_name_of_a_file_does_not_matter(kind: str) -> None:
    (seen,) = material_of({"x.bin": CASES[kind]}).files
    assert seen.kind == kind


@pytest.mark.parametrize("kind", CASES)
def test_carriage_returns_do_not_matter(kind: str) -> None:
    (seen,) = material_of({"x.txt": CASES[kind].replace("\n", "\r\n")}).files
    assert seen.kind == kind


def test_readers_are_found_by_themselves_and_have_names_of_their_own() -> None:
    names = [reader.name for reader in every_reader()]
    assert len(set(names)) == len(names) > 15
    assert all(reader.summary for reader in every_reader())


def test_counters_keep_their_labels_in_order_and_their_lines() -> None:
    (counters,) = material_of({"m": PROM}).counters
    key = 'vllm:num_requests_running{engine="0",model_name="m"}'
    assert (counters.engine, counters.samples[key], counters.lines[key]) == ("vllm", 3.0, 2)


@pytest.mark.parametrize(
    "line",
    [
        "fc.weight BF16 [7168, 21504]",
        "fc.weight torch.bfloat16 torch.Size([7168, 21504])",
        "fc.weight: [7168, 21504] bfloat16",
        "'fc.weight': torch.Size([7168, 21504]),",
        "fc.weight  bf16  7168x21504",
        "- fc.weight (7168, 21504) BF16",
    ],
)
def test_spellings_of_a_tensor(line: str) -> None:
    (found,) = material_of({"t": f"{line}\n{line.replace('fc', 'norm')}\n"}).tensors
    tensor = found.tensors[0]
    assert (tensor.name, tensor.shape, tensor.source.line) == ("fc.weight", (7168, 21504), 1)
    assert tensor.dtype in ("BF16", "")


def test_a_safetensors_header_and_an_index() -> None:
    header = json.dumps({"__metadata__": {}, "fc.weight": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}})
    (found,) = material_of({"h": header}).tensors
    assert (found.tensors[0].name, found.tensors[0].dtype, found.tensors[0].shape) == ("fc.weight", "BF16", (2, 3))
    (found,) = material_of(
        {"i": json.dumps({"metadata": {}, "weight_map": {"lm_head.weight": "a.safetensors"}})}
    ).tensors
    assert (found.tensors[0].name, found.tensors[0].shape) == ("lm_head.weight", ())


def test_gpus_keep_the_line_they_stand_on() -> None:
    (sheet,) = material_of({"g": SMI}).gpus
    assert (sheet.rows[0]["power.draw"], sheet.lines) == ("92.14 W", (2,))
    (sheet,) = material_of({"t": TOPO}).gpus
    assert (sheet.links["GPU1"], sheet.rows[1]["numa_node"]) == (("SYS", "X"), "1")


def test_what_a_load_generator_printed() -> None:
    text = (
        "============ Serving Benchmark Result ============\nMaximum request concurrency:             8\n"
        "Output token throughput (tok/s):         454.48\nMean TPOT (ms):                          17.18\n"
        "P99 TPOT (ms):                           18.42\nAcceptance rate (%):                     28.00\n"
        "Acceptance length:                       1.28\n"
    )
    (table,) = material_of({"r": text}).tables
    row = table.rows[0]
    assert (row.concurrency, row.throughput_tok_s, row.tpot_ms) == (8.0, 454.48, 17.18)
    assert (row.accept_length, row.acceptance, row.source.line) == (1.28, 0.28, 7)


def test_secrets_stay_out_of_what_is_kept() -> None:
    found = material_of({"l.sh": LAUNCH + "  --api-key sk-12345678901234567890\n"})
    assert "sk-1234" not in found.texts["l.sh"]


@pytest.mark.parametrize(
    "text",
    [
        "A=1 /venv/bin/python -m vllm.entrypoints.openai.api_server --model /m/big --port 1",
        "/opt/llama/llama-server -m /m/a.gguf -md /m/b.gguf --spec-type draft-simple",
        "docker run --gpus all vllm/vllm-openai:v0.11.0 --model /m/big",
    ],
)
def test_a_command_without_a_script_around_it(text: str) -> None:
    assert material_of({"x": text}).files[0].kind == "launch line"


def test_a_sentence_that_names_a_command_is_none() -> None:
    text = "We start it by vllm serve /m/big, and since yesterday it is slow.\n"
    assert material_of({"x": text}).files[0].kind == "notes"


@pytest.mark.parametrize(
    "text",
    ["| a | 1 |\n" * 100_000, "a,1\n" * 200_000, "x" * 5_000_000, '"' * 200_000, "[" * 1_000_000, "a\n" * 300_000],
    ids=["bars", "commas", "one line", "quotes", "brackets", "short lines"],
)
def test_long_texts_end_soon(text: str) -> None:
    began = time.process_time()
    material_of({"x": text})
    assert time.process_time() - began < LONGEST_S
