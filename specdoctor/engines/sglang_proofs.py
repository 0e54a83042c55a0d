"""What a log's wording proves about the version that wrote it.

Each row is a wording with the first version that has it and the first that no longer has it, as released sources show
them; where two readings differ the wider one stands here, since a proof must never exclude the true version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from specdoctor.core.server import Source
from specdoctor.engines.versions import ANY, VersionRange


@dataclass(frozen=True)
class Wording:
    """A wording and the versions that use it. `literal` is a fast test that precedes the expression."""

    id: str
    literal: str
    pattern: re.Pattern[str]
    span: VersionRange


def _row(
    name: str, literal: str, pattern: str | None = None, *, since: str | None = None, before: str | None = None
) -> Wording:
    return Wording(name, literal, re.compile(pattern or re.escape(literal)), VersionRange.of(since, before))


_HEAD = r"Decode batch(?:\.|,| \[\d+\],) #running-req: \d+, "
_TAIL = r"gen throughput \(token/s\): [\d.]+, #queue-req: \d+"

DECODE_WORDINGS: tuple[Wording, ...] = (
    _row("decode-dot", "Decode batch. #running-req", before="0.5.4"),
    _row("decode-number", "Decode batch [", r"Decode batch \[\d+\], #running-req", since="0.5.4"),
    _row("decode-comma", "Decode batch, #running-req", since="0.5.4.post1"),
    _row("decode-rate", "accept rate: ", r"accept rate: [\d.]+", since="0.5.3.post1"),
    _row(
        "decode-no-graph",
        "Decode batch. ",
        r"token usage: [\d.]+, (?:accept len: [\d.]+, )?gen throughput",
        before="0.4.6",
    ),
    _row("decode-dot-graph", "Decode batch. ", r"\w+ graph: (?:True|False), gen throughput", since="0.4.6"),
    _row("dot-no-comma", "Decode batch. ", rf"graph: \w+, {_TAIL}$", since="0.4.6", before="0.4.9.post6"),
    _row("dot-comma", "Decode batch. ", rf"graph: \w+, {_TAIL},\s*$", since="0.4.9.post1"),
    _row("comma-comma", "Decode batch, ", rf"{_TAIL},\s*$", before="0.5.9"),
    _row("comma-no-comma", "Decode batch, ", rf"{_TAIL}$", since="0.5.9"),
)

PREFILL_WORDINGS: tuple[Wording, ...] = (
    _row("prefill-dot", "Prefill batch. #new-seq", before="0.5.4"),
    _row("prefill-comma", "Prefill batch, #new-seq", since="0.5.4.post1"),
    _row("prefill-hit-rate", "cache hit rate: ", r"cache hit rate: [\d.]+%", before="0.4.6"),
    _row("prefill-pending", "#pending-token: ", since="0.5.11"),
    _row("prefill-graph-last", "input throughput", r"input throughput \(token/s\): [\d.]+, \w+ graph: \w+$",
         since="0.5.9", before="0.5.11"),
    _row("prefill-comma-end", "Prefill batch, ", r"#queue-req: \d+, $", before="0.5.9"),
)  # fmt: skip

LINE_WORDINGS: tuple[Wording, ...] = (
    _row("args-call", "server_args=ServerArgs(", before="0.5.19"),
    _row("args-dict", "server_args={'", since="0.5.19"),
    _row("weights-dtype", "Load weight end. type=", r"Load weight end\. type=\w+, dtype=[\w.]+", before="0.5.9"),
    _row("weights-elapsed", "Load weight end. elapsed=", since="0.5.7"),
    _row("kv-plain", "KV Cache is allocated. #tokens", before="0.5.17"),
    _row("kv-dtype", "KV Cache is allocated. dtype: ", since="0.5.13"),
    _row("kv-upper", "VA upper bound. dtype", since="0.5.16"),
    _row("tree-cache", "Tree cache initialized: ", since="0.5.13"),
    _row("startup-timings", "Engine startup timings (s): ", since="0.5.17"),
    _row("kill-tree", "kill_process_tree called: ", since="0.5.13"),
    _row("subprocess-crash", " crashed with exit code ", r"Subprocess \w+ \(pid=\d+\) crashed with exit code",
         since="0.5.10"),
    _row("recommend-serve", "launch_server' is still supported", since="0.5.10"),
    _row("deprecated-endpoint", "Endpoint '/get_", since="0.5.6"),
    _row("server-info-ok", '"GET /server_info HTTP/1.1" 200', since="0.5.6"),
    _row("capture-old", "Capture cuda graph ", r"Capture cuda graph (?:begin|end|bs)", before="0.5.14"),
    _row("capture-draft-old", "Capture draft ", r"Capture draft (?:extend )?cuda graph", before="0.5.14"),
    _row("capture-extend", "Capture draft extend ", since="0.4.7"),
    _row("capture-piecewise", "Capture piecewise CUDA graph", since="0.5.6", before="0.5.14"),
    _row("capture-target-verify", "Capture target verify ", since="0.5.14"),
    _row("capture-target-decode", "Capture target decode ", since="0.5.14"),
    _row("capture-draft-decode", "Capture draft decode ", since="0.5.14"),
    _row("per-bs", "graph begin. ", r"num_tokens_per_bs=\d+", since="0.5.14", before="0.5.17"),
    _row("per-req", "graph begin. ", r"num_tokens_per_req=\d+", since="0.5.16"),
    _row("verify-begin-bs", "Capture target verify ", r"begin\. backend=\w+, num_tokens_per_\w+=\d+, bs=\[",
         before="0.5.23"),
    _row("verify-end-bs", "Capture target verify ", r"end\. bs=\[", since="0.5.21"),
    _row("overlap-eagle", "Overlap scheduler is disabled because of using eagle speculative decoding.", before="0.5.4"),
    _row("overlap-and-standalone", "because of using eagle3 and standalone", since="0.5.3.post1", before="0.5.5"),
    _row("overlap-or-standalone", "because of using eagle3 or standalone", since="0.5.4.post1", before="0.5.7"),
    _row("beta-spec", "Beta spec is enabled for ", since="0.5.3.post1", before="0.5.7"),
    _row("spec-v2-overlap", "Spec v2 is enabled for eagle/eagle3 speculative decoding", since="0.5.7", before="0.5.11"),
    _row("spec-v2-off", "Overlap scheduler is disabled when spec v2 is off", since="0.5.7", before="0.5.11"),
    _row("spec-v1-used", "Spec v1 is used for eagle", since="0.5.11", before="0.5.13"),
    _row("spec-v2-default", "Spec v2 is enabled by default", since="0.5.11", before="0.5.13"),
    _row("overlap-v2-default", "Overlap spec v2 is enabled by default", since="0.5.13", before="0.5.17"),
    _row("non-overlap-v2", "Non-overlap (synchronous) spec v2", since="0.5.13"),
    _row("limit-short", "Max running requests is reset to 48", r"for speculative decoding\.$",
         since="0.5.4", before="0.5.5"),
    _row("limit-long", "Max running requests is reset to 48", r"speculative decoding\. You can override",
         since="0.5.4.post1"),
    _row("limit-256", "Setting max_running_requests to ", r"Setting max_running_requests to \d+ for DeepseekV4",
         since="0.5.12"),
    _row("mixed-eagle", "Mixed chunked prefill is disabled because of using eagle", since="0.4.6", before="0.5.19"),
    _row("mixed-new", "Mixed chunked prefill is disabled: ", since="0.5.19"),
    _row("ngram-overlap", "The overlap scheduler and mixed chunked prefill are disabled",
         since="0.5.3", before="0.5.14"),
    _row("ngram-tokens", "is set to 12 by default for ngram", since="0.5.10"),
    _row("radix-off", "The radix cache, chunked prefill, and overlap scheduler are disabled", before="0.4.6"),
    _row("topk-page", "speculative_eagle_topk is adjusted to 1 when page_size > 1", since="0.4.4", before="0.4.9"),
    _row("tokens-adjusted", "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1", since="0.4.4"),
    _row("dflash-overlap", "Overlap scheduler is disabled when using DFLASH", since="0.5.11", before="0.5.14"),
    _row("spec-v2-env", "SGLANG_ENABLE_SPEC_V2 has been removed", since="0.5.14"),
    _row("frame-hook", "srt/arg_groups/speculative_hook.py", since="0.5.13"),
    _row("frame-init", "sglang/srt/server_args.py", r"sglang/srt/server_args\.py\", line \d+, in __post_init__",
         before="0.5.20"),
    _row("frame-worker-v1", "srt/speculative/eagle_worker.py", before="0.5.13"),
    _row("frame-worker-v2", "srt/speculative/eagle_worker_v2.py", since="0.5.3.post1"),
    _row("vocab-check", "STANDALONE speculative decoding requires the draft model to share", since="0.5.13"),
    _row("weights-fill", "Loaded weights leave no GPU memory for the KV cache", since="0.5.14"),
    _row("algorithm-choice", "error: argument --speculative-algorithm: invalid choice", before="0.5.12"),
)  # fmt: skip

# First and first-no-longer release of arguments that a server_args line or a server-info document may show.
ARGUMENT_SPANS: dict[str, VersionRange] = {
    "speculative_draft_model_revision": VersionRange.of("0.5.2"),
    "speculative_attention_mode": VersionRange.of("0.5.2"),
    "speculative_ngram_capacity": VersionRange.of("0.5.3"),
    "speculative_ngram_branch_length": VersionRange.of("0.5.3", "0.5.10"),
    "speculative_ngram_max_trie_depth": VersionRange.of("0.5.10"),
    "speculative_draft_load_format": VersionRange.of("0.5.3.post1"),
    "enable_beta_spec": VersionRange.of("0.5.3.post1", "0.5.7"),
    "speculative_moe_runner_backend": VersionRange.of("0.5.4.post1"),
    "speculative_draft_attention_backend": VersionRange.of("0.5.7"),
    "speculative_draft_model_quantization": VersionRange.of("0.5.7"),
    "enable_multi_layer_eagle": VersionRange.of("0.5.7"),
    "speculative_adaptive": VersionRange.of("0.5.11"),
    "speculative_dflash_block_size": VersionRange.of("0.5.11"),
    "speculative_skip_dp_mlp_sync": VersionRange.of("0.5.11", "0.5.23"),
    "speculative_draft_window_size": VersionRange.of("0.5.12"),
    "cuda_graph_config": VersionRange.of("0.5.14"),
    "speculative_use_rejection_sampling": VersionRange.of("0.5.14"),
    "decoupled_spec_role": VersionRange.of("0.5.15"),
    "speculative_dspark_block_size": VersionRange.of("0.5.16"),
    "speculative_draft_kv_cache_dtype": VersionRange.of("0.5.18"),
    "speculative_dsa_topk_backend": VersionRange.of("0.5.19"),
    "speculative_domino_candidate_pool_size": VersionRange.of("0.5.20"),
    "speculative_draft_sink_size": VersionRange.of("0.5.21"),
    "speculative_use_block_verification": VersionRange.of("0.5.22"),
    "attn_dp_size": VersionRange.of("0.5.22"),
}

RATE_WITH_BONUS = VersionRange.of("0.5.3.post1", "0.5.11")
RATE_STRICT = VersionRange.of("0.5.11")


@dataclass(frozen=True)
class Proof:
    """One wording met in a log, and the versions it leaves possible."""

    id: str
    source: Source
    span: VersionRange


def narrow(proofs: Iterable[Proof]) -> tuple[VersionRange | None, tuple[Proof, ...]]:
    """The versions that all proofs leave, and the proofs that narrowed it; None where they contradict each other.

    Contradictions come from logs of two versions in one file, or from edited logs: then nothing is proved.
    """
    every = list(proofs)
    whole = ANY
    for proof in every:
        whole = whole.intersect(proof.span)
    used = tuple(_telling(every, whole))
    return (None if whole.is_empty else whole), used


def _telling(proofs: list[Proof], whole: VersionRange) -> Iterable[Proof]:
    """The first proof of each end of the range; all that clash, if they do."""
    seen: set[str] = set()
    for end in ("since", "before"):
        bound = getattr(whole, end)
        for proof in proofs:
            if bound is not None and getattr(proof.span, end) == bound and proof.id not in seen:
                seen.add(proof.id)
                yield proof
                break
