"""Which speculative worker runs, and which CUDA graphs a start captures for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from specdoctor.lab.sglang_defaults import graphs_disabled

Release = tuple[int, int, int]
Worker = Literal["v1", "v2"]


def worker_of(args: Mapping[str, Any], release: Release) -> Worker | None:
    """Generation of the speculative worker; None without a draft model."""
    if args["speculative_algorithm"] in {None, "NGRAM"}:
        return None
    if release >= (0, 5, 13):
        return "v2"
    return "v1" if args["disable_overlap_schedule"] else "v2"


def graph_phases(args: Mapping[str, Any], release: Release, worker: Worker | None) -> dict[str, int]:
    """Captured phases with their tokens per request."""
    if graphs_disabled(args):
        return {}
    if args["speculative_algorithm"] is None:
        return {"decode": 1}
    width = int(args["speculative_num_draft_tokens"])
    phases = {"target_verify": width}
    if worker is None:
        return phases
    if int(args["speculative_num_steps"]) > 1:
        phases["draft_decode"] = int(args["speculative_eagle_topk"])
    if _extend_backend(args) in extend_graph_backends(release, worker):
        phases["draft_extend"] = width
    return phases


def _extend_backend(args: Mapping[str, Any]) -> str:
    named = args.get("speculative_draft_attention_backend")
    mode = args.get("speculative_attention_mode") or "prefill"
    return str(named or args[f"{mode}_attention_backend"] or args["attention_backend"])


def extend_graph_backends(release: Release, worker: Worker) -> frozenset[str]:
    """Attention backends for which the draft-extend forward gets a CUDA graph."""
    if worker == "v1":
        return frozenset({"flashinfer", "triton", "fa3", "fa4", "trtllm_mha", "trtllm_mla"})
    if release < (0, 5, 9):
        return frozenset()
    since: tuple[tuple[Release, tuple[str, ...]], ...] = (
        ((0, 5, 9), ("triton", "trtllm_mla")),
        ((0, 5, 13), ("trtllm_mha",)),
        ((0, 5, 14), ("flashinfer",)),
        ((0, 5, 15), ("dsa",)),
        ((0, 5, 16), ("flashmla", "dsv4")),
        ((0, 5, 23), ("fa3", "fa4")),
    )
    return frozenset(name for first, names in since if release >= first for name in names)
