"""What engines report, turned into an accept length (tokens per target forward, bonus token included).

Each function takes one convention. None means that nothing was counted (no forwards, no drafts, a counter reset
between two reads); FigureError means that the figures cannot belong to that convention.
"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.analysis.acceptance import chain_from_conditional, chain_from_histogram, chain_from_marginal
from specdoctor.analysis.figure import (
    FigureError,
    accept_length,
    draft_steps,
    finite,
    fraction,
    not_negative,
)
from specdoctor.core.model import Frozen


def from_sglang_log(accept_len: float) -> float:
    """SGLang `accept len` of a Decode line: as is, pooled over the window since the line before."""
    return accept_length(accept_len)


def from_sglang_rate(accept_rate: float, num_draft_tokens: int) -> float:
    """SGLang `accept rate`: 1 + rate * (num_draft_tokens - 1); in logs since 0.5.11, per request always."""
    if num_draft_tokens < 1:
        raise FigureError(f"num_draft_tokens is {num_draft_tokens}; it includes the root and is at least 1")
    return 1.0 + fraction("accept rate", accept_rate) * (num_draft_tokens - 1)


def from_sglang_old_log_rate(accept_rate: float, num_draft_tokens: int) -> float:
    """SGLang `accept rate` in logs of 0.5.4 to 0.5.10, where it was accept length / num_draft_tokens."""
    return accept_length(fraction("accept rate", accept_rate) * num_draft_tokens)


def from_sglang_counts(num_correct_drafts: int, verify_ct: float) -> float | None:
    """SGLang per request, exact: 1 + spec_num_correct_drafts / spec_verify_ct."""
    return _per_forward(num_correct_drafts, verify_ct)


def from_sglang_histogram(histogram: Sequence[int]) -> float | None:
    """SGLang per request, exact: 1 + mean of spec_correct_drafts_histogram."""
    chain = chain_from_histogram(histogram)
    return None if chain is None else chain.accept_length


def from_sglang_completion(completion_tokens: int, verify_ct: float) -> float | None:
    """SGLang versions without draft counts: (completion_tokens - 1) / spec_verify_ct.

    The first token comes from prefill. Drafts accepted past the end of the answer are lost, so short answers at many
    steps are understated. None for a request of one token.
    """
    tokens, forwards = not_negative("completion tokens", completion_tokens), not_negative("verify_ct", verify_ct)
    if tokens <= 1 or forwards == 0:
        return None
    return accept_length((tokens - 1.0) / forwards)


def sglang_reported(completion_tokens: int, verify_ct: float) -> float | None:
    """What SGLang reports as spec_accept_length: completion_tokens / verify_ct, biased by (1 - surplus) / verify_ct."""
    tokens, forwards = not_negative("completion tokens", completion_tokens), not_negative("verify_ct", verify_ct)
    return tokens / forwards if forwards else None


class VllmCounters(Frozen):
    """One scrape of vLLM's totals of accepted draft tokens and of drafts (one draft is one verified proposal)."""

    accepted_tokens: float
    drafts: float


def from_vllm_counters(before: VllmCounters, after: VllmCounters) -> float | None:
    """vLLM counters: 1 + d(accepted) / d(drafts) between two scrapes, never totals; None after a reset."""
    accepted = finite("accepted tokens", after.accepted_tokens) - finite("accepted tokens", before.accepted_tokens)
    drafts = finite("drafts", after.drafts) - finite("drafts", before.drafts)
    if accepted < 0 or drafts <= 0:
        return None
    return 1.0 + accepted / drafts


def from_vllm_positions(rates: Sequence[float]) -> float:
    """vLLM per-position acceptance rates: 1 + their sum; they are marginal."""
    return chain_from_marginal(rates).accept_length


def from_vllm_draft_rate(rate: float, steps: int) -> float:
    """vLLM average draft acceptance rate: 1 + k * rate, only right if every step drafted k tokens."""
    return 1.0 + draft_steps(steps) * fraction("draft acceptance rate", rate)


def from_conditional_list(rates: Sequence[float]) -> float:
    """Conditional per-position acceptance (EAGLE "n-alpha"): 1 + sum of cumulative products."""
    return chain_from_conditional(rates).accept_length


def from_llamacpp(accepted: int, forwards: float) -> float | None:
    """llama.cpp: 1 + accepted / target forwards."""
    return _per_forward(accepted, forwards)


def from_eagle_tau(tau: float) -> float:
    """EAGLE papers' tau: as is."""
    return accept_length(tau)


def from_tensorrt_forced_count(count: float) -> float:
    """TensorRT-LLM forced number of accepted drafts: one less than the accept length."""
    return 1.0 + not_negative("forced count", count)


class SkippingProposer(Frozen):
    """Accept length of a proposer that skips steps (n-gram): over cycles with a draft, and over all forwards.

    Only `per_forward` predicts speed; `per_draft` is None when nothing was drafted.
    """

    per_draft: float | None
    per_forward: float


def from_skipping_proposer(
    *, tokens: int, drafts: int, accepted: int, forwards_without_draft: int
) -> SkippingProposer | None:
    """N-gram and other proposers that skip steps: tokens / target forwards over all forwards; None without forwards."""
    for name, count in (("drafts", drafts), ("accepted", accepted), ("forwards without draft", forwards_without_draft)):
        not_negative(name, count)
    forwards = drafts + forwards_without_draft
    if forwards == 0:
        return None
    return SkippingProposer(
        per_draft=_per_forward(accepted, drafts),
        per_forward=accept_length(not_negative("tokens", tokens) / forwards),
    )


def _per_forward(accepted: float, forwards: float) -> float | None:
    not_negative("accepted drafts", accepted)
    if not_negative("forwards", forwards) == 0:
        return None
    return 1.0 + accepted / forwards
