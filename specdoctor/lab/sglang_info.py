"""Bodies of SGLang's information endpoints, by version."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from specdoctor.lab.counters import Counters
from specdoctor.lab.engine_types import Resolved
from specdoctor.lab.sglang_args import context_length
from specdoctor.lab.sglang_output import GRAPH_PHASES
from specdoctor.lab.world import World

_DEPRECATED = {
    "/get_model_info": "/model_info",
    "/get_server_info": "/server_info",
    "/get_load": "/v1/loads",
}


def startup_block(timings: Mapping[str, float], *, launcher: bool) -> dict[str, Any]:
    """`startup_time`: seconds by phase, graphs apart."""
    block: dict[str, Any] = {
        name: timings.get(name, 0.0) for name in ("load_weight", "kv_cache_allocation", "scheduler_e2e")
    }
    block["cuda_graph"] = {phase: timings.get(phase, 0.0) for phase in GRAPH_PHASES}
    if launcher:
        block["tokenizer_e2e"] = timings.get("tokenizer_e2e", 0.0)
    return block


def graph_memory(resolved: Resolved) -> dict[str, float]:
    """GB of captured graphs by phase, zero where there is none."""
    return {phase: round(resolved.memory.graph_gb.get(phase, 0.0), 3) for phase in GRAPH_PHASES}


def server_info(resolved: Resolved, counters: Counters, timings: Mapping[str, float]) -> dict[str, Any]:
    """Body of /server_info."""
    release, args = resolved.release, resolved.args
    body: dict[str, Any] = {name: value for name, value in args.items() if name != "custom_sigquit_handler"}
    if "custom_sigquit_handler" in args:
        body["custom_sigquit_handler"] = None
    if release >= (0, 5, 20):
        body["launch_command"] = shlex.join(resolved.argv)
    body["status"] = "ready"
    body["max_total_num_tokens"] = resolved.memory.max_total_num_tokens
    body["max_req_input_len"] = context_length(args, resolved.target) - 6
    if release >= (0, 5, 17):
        body["startup_time"] = startup_block(timings, launcher=True)
        body["kv_events"] = None
    body["internal_states"] = [_internal_state(resolved, counters, timings)]
    body["version"] = resolved.version
    if release >= (0, 5, 20):
        body["frontend"] = "python"
    return body


def _internal_state(resolved: Resolved, counters: Counters, timings: Mapping[str, float]) -> dict[str, Any]:
    release, memory = resolved.release, resolved.memory
    state: dict[str, Any] = {name: value for name, value in resolved.args.items() if name != "custom_sigquit_handler"}
    usage: dict[str, Any] = {
        "weight": round(memory.weight_gb, 3 if release >= (0, 5, 17) else 2),
        "kvcache": round(memory.kv_gb, 2),
    }
    if release >= (0, 5, 17):
        state |= _late_state(resolved)
        usage["startup_available"] = round(memory.free_gb - memory.used_gb, 3)
        usage["token_capacity"] = memory.max_total_num_tokens
        usage["token_capacity_swa"] = None
        usage["graph"] = graph_memory(resolved)
    else:
        usage["token_capacity"] = memory.max_total_num_tokens
        own = [size for phase, size in memory.graph_gb.items() if not phase.startswith("draft")]
        usage["graph"] = round(sum(own), 2)
    state["last_gen_throughput"] = counters.last_throughput
    state["memory_usage"] = usage
    if release >= (0, 5, 17):
        state["startup_time"] = startup_block(timings, launcher=False)
    if release >= (0, 5, 9):
        state["effective_max_running_requests_per_dp"] = resolved.max_running_requests
    average = counters.average_accept_length
    if resolved.speculative and average is not None:
        state["avg_spec_accept_length"] = average
    if resolved.env.get("SGLANG_RECORD_STEP_TIME", "").lower() in {"1", "true"}:
        state["step_time_dict"] = {str(size): list(times) for size, times in counters.step_times.items()}
    return state


def _late_state(resolved: Resolved) -> dict[str, Any]:
    args = resolved.args
    return {
        "disable_chunked_prefix_cache": True,
        "pp_max_micro_batch_size": resolved.max_running_requests,
        "_resolved_overrides": [
            ["_page_size_default", {"page_size": args["page_size"]}],
            ["_data_parallelism_defaults", {"enable_dp_attention": False, "enable_dp_lm_head": False}],
            ["_speculative_moe_runner_default", {"speculative_moe_runner_backend": "auto"}],
        ],
        "grpc_worker_threads": 4,
        "_quantization_explicitly_unset": False,
        "_cuda_graph_config_locked": [],
        "_declarations_materialized": True,
        "_mx_config_cache": {},
        "max_speculative_num_draft_tokens": resolved.num_draft_tokens if resolved.speculative else None,
    }


def model_info(resolved: Resolved) -> dict[str, Any]:
    """Body of /model_info."""
    args, config = resolved.args, resolved.target.config
    vision = "vision_config" in config
    body: dict[str, Any] = {
        "model_path": args["model_path"],
        "tokenizer_path": args["tokenizer_path"],
        "is_generation": True,
        "preferred_sampling_params": args.get("preferred_sampling_params"),
        "weight_version": args.get("weight_version", "default"),
        "has_image_understanding": vision,
        "has_audio_understanding": False,
        "model_type": config.get("model_type"),
        "architectures": config.get("architectures"),
    }
    if resolved.release >= (0, 5, 20):
        body["served_model_name"] = resolved.served_model_name
    return body


def models_body(resolved: Resolved, created_s: float) -> dict[str, Any]:
    """Body of /v1/models."""
    name = resolved.served_model_name
    entry = {
        "id": name,
        "object": "model",
        "created": int(created_s),
        "owned_by": "sglang",
        "root": name,
        "parent": None,
        "max_model_len": context_length(resolved.args, resolved.target),
    }
    return {"object": "list", "data": [entry]}


def loads_body(
    resolved: Resolved, world: World, counters: Counters, *, now_s: float, running: int, waiting: int, tokens: int
) -> dict[str, Any]:
    """Body of /v1/loads."""
    memory = resolved.memory
    pool = max(memory.max_total_num_tokens, 1)
    load: dict[str, Any] = {
        "timestamp": now_s,
        "dp_rank": 0,
        "num_running_reqs": running,
        "num_waiting_reqs": waiting,
        "num_waiting_uncached_tokens": 0,
        "num_used_tokens": tokens,
        "num_total_tokens": tokens,
        "num_active_tokens": tokens,
        "max_total_num_tokens": memory.max_total_num_tokens,
        "max_running_requests": resolved.max_running_requests,
        "token_usage": round(tokens / pool, 4),
        "gen_throughput": round(counters.last_throughput, 2) if running else 0.0,
        "cache_hit_rate": 0.0,
        "utilization": 0.0,
        "total_prefill_uncached_tokens": counters.prefill_tokens,
        "total_prefill_busy_us": int(counters.prefill_busy_s * 1e6),
        "memory": {
            "weight_gb": round(memory.weight_gb, 3),
            "kv_cache_gb": round(memory.kv_gb, 3),
            "graph_gb": round(sum(size for phase, size in memory.graph_gb.items() if "draft" not in phase), 3),
            "token_capacity": memory.max_total_num_tokens,
        },
    }
    average = counters.average_accept_length
    if resolved.speculative and average is not None:
        load["speculative"] = {"accept_length": average, "accept_rate": counters.last_accept_rate}
    load["disaggregation"] = {"mode": "null"} | dict.fromkeys(
        (
            "prefill_bootstrap_queue_reqs",
            "prefill_inflight_queue_reqs",
            "decode_prealloc_queue_reqs",
            "decode_transfer_queue_reqs",
            "decode_retracted_queue_reqs",
        ),
        0,
    )
    load["queues"] = {"waiting": waiting, "grammar": 0, "paused": 0, "retracted": 0, "prealloc_ready": 0}
    return {
        "timestamp": datetime.fromtimestamp(now_s, UTC).isoformat(),
        "version": resolved.version,
        "accelerator": world.gpus.name,
        "num_accelerators": resolved.tp_size,
        "loads": [load],
    }


def endpoints(resolved: Resolved) -> dict[str, str | None]:
    """Paths that this version answers, with the newer name where calling the old one is logged as deprecated."""
    release = resolved.release
    paths: dict[str, str | None] = dict.fromkeys(
        ("/health", "/health_generate", "/generate", "/v1/models", "/v1/completions", "/v1/chat/completions")
    )
    paths |= dict.fromkeys(("/flush_cache", "/abort_request", "/start_profile", "/stop_profile"))
    if release >= (0, 5, 6):
        paths |= dict.fromkeys(("/server_info", "/model_info", "/v1/loads"))
    old = dict(_DEPRECATED)
    if release >= (0, 5, 21):
        del old["/get_load"]
    paths |= {path: (newer if release >= (0, 5, 6) else None) for path, newer in old.items()}
    if release >= (0, 5, 20):
        paths["/ready"] = None
    if resolved.metrics_enabled:
        paths["/metrics"] = None
    return paths


def deprecation_text(path: str, newer: str) -> str:
    """What each call of a deprecated path writes to the log."""
    return f"Endpoint '{path}' is deprecated and will be removed in a future version. Please use '{newer}' instead."
