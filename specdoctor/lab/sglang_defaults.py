"""What an SGLang server fills in for arguments that were not given: sizes, backends, graph batch sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specdoctor.lab.world import Gpus, Model

Release = tuple[int, int, int]
Args = dict[str, Any]

_PREFILL_SIZES = (
    *range(4, 33, 4),
    *range(48, 257, 16),
    *range(288, 513, 32),
    *range(576, 1025, 64),
    *range(1280, 4097, 256),
    *range(4608, 8193, 512),
)


def uses_mla(model: Model) -> bool:
    """Whether the model's attention is multi-head latent attention."""
    return bool(model.text_config.get("kv_lora_rank"))


def is_multimodal(model: Model) -> bool:
    return "vision_config" in model.config


def graph_batch_sizes(max_batch: int, *, speculative: bool) -> list[int]:
    """Batch sizes that decode graphs are captured for."""
    if speculative:
        sizes = [
            *range(1, 9),
            *range(10, 33, 2),
            *range(40, 65, 4),
            *range(72, 257, 8),
            *range(272, max_batch + 1, 16),
        ]
    else:
        sizes = [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16), *range(512, max_batch + 1, 32)]
    kept = [size for size in sizes if size <= max_batch]
    return kept if max_batch in kept else [*kept, max_batch]


def default_max_batch(gpus: Gpus, tp_size: int) -> int:
    """Largest captured batch by GPU memory and tensor-parallel size."""
    memory = gpus.memory_gb
    table = ((20, 8, 8), (35, 24, 80), (60, 32, 160), (160, 256, 512))
    for limit, small, large in table:
        if memory < limit:
            return small if tp_size < 4 else large
    return 512


def _default_chunk(gpus: Gpus) -> int:
    memory = gpus.memory_gb
    return 2048 if memory < 35 else 4096 if memory < 60 else 8192 if memory < 160 else 16384


def default_attention_backend(args: Args, gpus: Gpus, model: Model) -> str:
    """The kernel family that is taken when none is named."""
    capability = float(gpus.compute_capability)
    topk = args["speculative_eagle_topk"]
    chain = args["speculative_algorithm"] is None or topk in (None, 1)
    if uses_mla(model):
        return "fa3" if 9.0 <= capability < 10.0 else "flashinfer" if capability >= 10.0 else "triton"
    if 9.0 <= capability < 10.0 and chain and (args["page_size"] or 1) == 1:
        return "fa3"
    if capability >= 10.0 and chain and (args["speculative_algorithm"] is None or topk is not None):
        return "trtllm_mha"
    return "flashinfer"


def fill_defaults(args: Args, *, release: Release, gpus: Gpus, model: Model, notices: list[str], seed: int) -> None:
    """Resolve everything that does not depend on the rules of speculation, in the engine's own order."""
    args["tokenizer_path"] = args["tokenizer_path"] or args["model_path"]
    args["served_model_name"] = args["served_model_name"] or args["model_path"]
    args["device"] = args["device"] or "cuda"
    args["random_seed"] = args["random_seed"] if args["random_seed"] is not None else seed % (1 << 30)
    if args.get("load_balance_method") == "auto":
        args["load_balance_method"] = "round_robin"
    if args["chunked_prefill_size"] is None:
        args["chunked_prefill_size"] = _default_chunk(gpus)
    _fill_graphs(args, release=release, gpus=gpus, model=model)
    if args["mem_fraction_static"] is None:
        args["mem_fraction_static"] = _memory_fraction(args, release=release, gpus=gpus, model=model)
    args["sampling_backend"] = args["sampling_backend"] or "flashinfer"
    if args["attention_backend"] is None:
        both = args["prefill_attention_backend"], args["decode_attention_backend"]
        if both[0] is not None and both[0] == both[1]:
            args["attention_backend"] = both[0]
        else:
            args["attention_backend"] = default_attention_backend(args, gpus, model)
            notices.append(f"Attention backend not specified. Use {args['attention_backend']} backend by default.")
    args["page_size"] = args["page_size"] or 1
    args["grammar_backend"] = args["grammar_backend"] or "xgrammar"
    fixed = {"expert_distribution_recorder_buffer_size": 1000, "encoder_transfer_backend": "zmq_to_scheduler"}
    for name, value in fixed.items():
        if name in args:
            args[name] = value
    for name, empty in (("mm_process_config", {}), ("custom_weight_loader", [])):
        if args.get(name, 0) is None:
            args[name] = empty


def graphs_disabled(args: Mapping[str, Any]) -> bool:
    """Whether decode graphs are off, by whichever spelling."""
    return bool(
        args.get("disable_cuda_graph")
        or args.get("disable_decode_cuda_graph")
        or args.get("cuda_graph_backend_decode") == "disabled"
    )


def decode_batch_sizes(args: Args) -> list[int]:
    """The captured batch sizes as resolved, before they are cut to the request pool."""
    config = args.get("cuda_graph_config")
    sizes = config["decode"]["bs"] if isinstance(config, dict) else args["cuda_graph_bs"]
    return [int(size) for size in sizes]


def _fill_graphs(args: Args, *, release: Release, gpus: Gpus, model: Model) -> None:
    speculative = args["speculative_algorithm"] is not None
    newer = "cuda_graph_bs_decode" in args
    given, largest = (
        ("cuda_graph_bs_decode", "cuda_graph_max_bs_decode")
        if newer
        else (
            "cuda_graph_bs",
            "cuda_graph_max_bs",
        )
    )
    max_batch = args[largest] or default_max_batch(gpus, int(args["tp_size"]))
    sizes = args[given] or graph_batch_sizes(max_batch, speculative=speculative)
    max_batch = max(sizes)
    if newer:
        prefill_max = int(args["chunked_prefill_size"])
        prefill_off = bool(
            args.get("cuda_graph_backend_prefill") == "disabled"
            or args.get("disable_prefill_cuda_graph")
            or args.get("disable_cuda_graph")
            or uses_mla(model)
            or is_multimodal(model)
        )
        common = {"tc_compiler": "eager", "full_prefill_max_req": None, "full_prefill_prefix_chunk_tokens": None}
        args["cuda_graph_config"] = {
            "decode": {
                "backend": "disabled" if graphs_disabled(args) else "full",
                "max_bs": max_batch,
                "bs": list(sizes),
                **common,
            },
            "prefill": {
                "backend": "disabled" if prefill_off else "breakable",
                "max_bs": prefill_max,
                "bs": [size for size in _PREFILL_SIZES if size <= prefill_max],
                **common,
            },
        }
        return
    args[given], args[largest] = list(sizes), max_batch
    if "piecewise_cuda_graph_tokens" in args and args["piecewise_cuda_graph_tokens"] is None:
        cap = 2048 if uses_mla(model) else int(args["chunked_prefill_size"])
        args["piecewise_cuda_graph_max_tokens"] = cap
        args["piecewise_cuda_graph_tokens"] = [size for size in _PREFILL_SIZES if size <= cap]
        if is_multimodal(model) or args.get("disable_cuda_graph"):
            args["disable_piecewise_cuda_graph"] = True


def _memory_fraction(args: Args, *, release: Release, gpus: Gpus, model: Model) -> float:
    total = gpus.memory_gb * 1024.0
    max_batch = decode_batch_sizes(args)[-1]
    reserved = 512.0 + max(int(args["chunked_prefill_size"]), 2048) * 1.5 + max_batch * 2.0
    reserved += int(args["tp_size"]) / 8.0 * 1024.0
    if release >= (0, 5, 10):
        reserved += 1536.0 if uses_mla(model) else 400.0
    if total > 60 * 1024:
        reserved = max(reserved, 10.0 * 1024.0)
    algorithm = args["speculative_algorithm"]
    if algorithm is not None and str(algorithm).upper() != "NGRAM" and release < (0, 5, 18):
        reserved += 6144.0 if str(algorithm).upper() == "STANDALONE" else 4096.0 if release >= (0, 5, 10) else 2048.0
    fraction = round((total - reserved) / total, 3)
    return round(fraction * 0.95, 3) if is_multimodal(model) else fraction
