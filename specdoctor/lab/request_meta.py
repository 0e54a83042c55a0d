"""meta_info of a request, by version: its tokens and times, and at its end what speculation did for it."""

from __future__ import annotations

from typing import Any

from specdoctor.lab.engine_types import Resolved
from specdoctor.lab.sequences import Sequence
from specdoctor.lab.sglang_output import speculative_meta


def finish_reason(resolved: Resolved, one: Sequence) -> dict[str, Any]:
    """Why a finished request ended."""
    if not one.stops:
        return {"type": "length", "length": one.produced}
    end_id = resolved.target.text_config.get("eos_token_id", 2)
    return {"type": "stop", "matched": end_id[0] if isinstance(end_id, list) else end_id}


def running_meta(resolved: Resolved, one: Sequence) -> dict[str, Any]:
    """What every chunk says."""
    return _common(resolved, one, None)


def final_meta(resolved: Resolved, one: Sequence, end_s: float) -> dict[str, Any]:
    """What the finished answer (or the last chunk) says."""
    meta = _common(resolved, one, finish_reason(resolved, one)) | {"e2e_latency": end_s - one.arrived_s}
    if resolved.speculative:
        meta |= speculative_meta(
            release=resolved.release,
            completion_tokens=one.produced,
            verify_count=one.verify_count,
            correct=one.correct,
            histogram=one.histogram,
            draft_tokens=resolved.num_draft_tokens,
        )
    if resolved.metrics_enabled and resolved.release >= (0, 5, 9):
        meta |= _timestamps(one, end_s)
    return meta


def _common(resolved: Resolved, one: Sequence, reason: dict[str, Any] | None) -> dict[str, Any]:
    release = resolved.release
    meta: dict[str, Any] = {
        "id": one.request.id,
        "finish_reason": reason,
        "prompt_tokens": len(one.ids),
        "weight_version": resolved.args.get("weight_version", "default"),
    }
    if release >= (0, 5, 9):
        meta["num_retractions"] = 0
    if resolved.metrics_enabled:
        entered = one.forward_s if one.forward_s is not None else one.arrived_s
        if release >= (0, 5, 12):
            meta |= {"forward_entry_time": entered, "prefill_finished_time": one.first_token_s}
        meta["queue_time"] = entered - one.arrived_s
    if release >= (0, 5, 12):
        meta["reasoning_tokens"] = 0
    meta |= {"completion_tokens": one.produced, "cached_tokens": one.cached}
    if release >= (0, 5, 12):
        meta["cached_tokens_details"] = {"device": one.cached, "host": 0} if one.cached else None
        meta["dp_rank"] = None
    return meta


def _timestamps(one: Sequence, end_s: float) -> dict[str, Any]:
    """Wall times of the stages. Without streaming the first chunk is the last, so the throughput is meaningless."""
    first = one.first_token_s if one.first_token_s is not None else end_s
    decoding = end_s - first if one.request.stream else 2e-6
    return {
        "request_received_ts": one.arrived_s - 0.002,
        "api_server_dispatch_finish_ts": one.arrived_s - 0.001,
        "request_finished_ts": end_s,
        "decode_throughput": (one.produced - 1) / max(decoding, 2e-6),
        "response_sent_to_client_ts": (first if one.request.stream else end_s) + 0.0004,
    }
