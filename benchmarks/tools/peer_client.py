"""sglang.bench_serving as it is, in a virtual environment of its own; prints one JSON line.

    PEER/bin/python peer_client.py FOLDER PORT BACKEND REQUESTS CONCURRENCY TOKENS

The module is loaded from its file, since the package around it would want torch. CPU time is that of this process from
the first request of the measured load to the end of the last, so start, warm-up and its statistics are not counted.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path


def tokenizer_in(folder):
    """A local tokenizer of single bytes: what it makes of a text does not matter here."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: index for index, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=made, chat_template="{{ messages[0].content }}").save_pretrained(folder)


def main():
    folder, port, backend, requests, concurrency, tokens = Path(sys.argv[1]), *sys.argv[2:]
    if not (folder / "tokenizer_config.json").exists():
        tokenizer_in(folder)
    prompts = folder / "prompts.jsonl"
    turns = [{"content": f"Explain how a hash map works, part {index}."} for index in range(int(requests))]
    rows = [json.dumps({"conversations": [turn, {"content": "It does."}]}) for turn in turns]
    prompts.write_text("\n".join(rows))
    place = Path(sys.prefix).glob("lib/python3*/site-packages/sglang/bench_serving.py")
    spec = importlib.util.spec_from_file_location("bench_serving", next(place))
    peer = importlib.util.module_from_spec(spec)
    sys.modules["bench_serving"] = peer
    spec.loader.exec_module(peer)

    marks = {}
    real_start, real_end = peer.get_request, peer.calculate_metrics

    def get_request(*args, **kwargs):
        marks["start"] = time.process_time()
        return real_start(*args, **kwargs)

    def calculate_metrics(*args, **kwargs):
        marks["end"] = time.process_time()
        return real_end(*args, **kwargs)

    peer.get_request, peer.calculate_metrics = get_request, calculate_metrics
    defaults = {
        "backend": backend,
        "base_url": None,
        "host": "127.0.0.1",
        "port": int(port),
        "dataset_name": "custom",
        "dataset_path": str(prompts),
        "model": str(folder),
        "served_model_name": "null",
        "tokenizer": str(folder),
        "num_prompts": int(requests),
        "sharegpt_output_len": int(tokens),
        "sharegpt_context_len": None,
        "prompt_suffix": "",
        "apply_chat_template": False,
        "request_rate": float("inf"),
        "max_concurrency": int(concurrency),
        "seed": 1,
        "disable_tqdm": True,
        "disable_stream": False,
        "disable_ignore_eos": False,
        "return_logprob": False,
        "return_routed_experts": False,
        "extra_request_body": None,
        "lora_name": None,
        "lora_request_distribution": "uniform",
        "lora_zipf_alpha": 1.5,
        "profile": False,
        "pd_separated": False,
        "flush_cache": False,
        "warmup_requests": 1,
        "output_file": str(folder / "result.jsonl"),
        "output_details": True,
        "tag": None,
        "header": None,
        "print_requests": False,
        "random_input_len": 0,
        "random_output_len": 0,
        "random_range_ratio": 0.0,
    }
    from types import SimpleNamespace

    before = time.process_time()
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        found = peer.run_benchmark(SimpleNamespace(**defaults))
    finally:
        sys.stdout = stdout
    told = {"requests_cpu_s": marks["end"] - marks["start"], "whole_cpu_s": time.process_time() - before}
    told.update({key: found[key] for key in ("completed", "total_output_tokens") if key in found})
    told["output_lens"] = found.get("output_lens")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
