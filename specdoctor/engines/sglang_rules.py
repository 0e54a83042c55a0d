"""What SGLang replaces, fills in or ignores on its own, as data: one row per rule and version range.

Rows are read in order, as the engine does: an alias first, then filled-in values, then the chain rule. Sources: the
argument checks of released versions. `binds`: the value can change speed, acceptance or capacity; rows that do not
bind are named so that nobody takes them for a fault.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from specdoctor.engines.versions import VersionRange

Operator = Literal["asked", "absent", "given", "is", "not", "above"]
ALGORITHM, STEPS, TOPK, TOKENS = (
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
)
LIMIT = "max_running_requests"


@dataclass(frozen=True)
class Condition:
    """One condition on an argument. `asked` (any of the operands) and `absent` look at the launch line, the others at
    the value in force, else asked: `is` any of the operands, `not` any of them, `above` a number. The key
    `architecture` is the target's class.
    """

    key: str
    operator: Operator
    operand: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """`effect` is the new value: a literal, `=other_argument`, or a name that the evaluation knows (`steps+1`).

    None: the rule tells that the value changes, not to what. `drops`: what was asked for is accepted and ignored.
    """

    id: str
    key: str
    effect: str | None
    cause: str | None
    binds: bool
    note: str
    when: tuple[Condition, ...]
    versions: VersionRange = field(default_factory=VersionRange)
    log: re.Pattern[str] | None = None
    drops: bool = False


def _when(key: str, operator: Operator, *operand: str) -> Condition:
    return Condition(key, operator, operand)


_EAGLES = _when(ALGORITHM, "is", "EAGLE", "EAGLE3")
_FAMILY = _when(ALGORITHM, "is", "EAGLE", "EAGLE3", "STANDALONE", "FROZEN_KV_MTP")
_NGRAM = _when(ALGORITHM, "is", "NGRAM")
_BLOCK = _when(ALGORITHM, "is", "DFLASH", "DSPARK")
_ANY = _when(ALGORITHM, "given")
_NOT_NGRAM = _when(ALGORITHM, "is", "EAGLE", "EAGLE3", "STANDALONE", "FROZEN_KV_MTP", "DFLASH", "DSPARK")
_ADAPTIVE = _when("speculative_adaptive", "is", "True")
_NOT_ADAPTIVE = _when("speculative_adaptive", "not", "True")
_NO_STEPS = _when(STEPS, "absent")
_V4 = _when("architecture", "is", "DeepseekV4ForCausalLM")
_MULTI_LAYER = ("MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM", "Step3p5ForCausalLM", "Step3p7ForCausalLM", "GigaChat35")
_DP_ON = _when("enable_dp_attention", "is", "True")
_OVERLAP = "disable_overlap_schedule"
_DRAFT_PATH = "speculative_draft_model_path"
_REVISION = "speculative_draft_model_revision"


def _rule(
    name: str,
    key: str,
    effect: str | None,
    cause: str | None,
    note: str,
    *when: Condition,
    since: str | None = None,
    before: str | None = None,
    log: str | None = None,
    binds: bool = True,
    drops: bool = False,
) -> Rule:
    return Rule(
        id=name,
        key=key,
        effect=effect,
        cause=cause,
        binds=binds,
        note=note,
        when=when,
        versions=VersionRange.of(since, before),
        log=re.compile(log) if log else None,
        drops=drops,
    )


RULES: tuple[Rule, ...] = (
    _rule("alias-nextn", ALGORITHM, "EAGLE", None, "NEXTN is another name of EAGLE",
          _when(ALGORITHM, "asked", "NEXTN"), binds=False),
    _rule("gemma-mtp", ALGORITHM, "FROZEN_KV_MTP", None, "a Gemma assistant draft gets its own algorithm",
          _when(ALGORITHM, "asked", "NEXTN", "EAGLE"), since="0.5.12", log=r"promoting --speculative-algorithm"),
    _rule("aux-capture-only", ALGORITHM, None, "CFG-1", "capture mode for training runs without speculation",
          _when("enable_return_aux_hidden_states", "is", "True"), since="0.5.23"),
    # Draft length, in the order of the engine.
    _rule("adaptive-topk", TOPK, "1", "CFG-1", "adaptive speculation drafts chains",
          _FAMILY, _ADAPTIVE, since="0.5.11"),
    _rule("adaptive-steps", STEPS, None, "CFG-1", "adaptive speculation starts at a middle candidate",
          _FAMILY, _ADAPTIVE, _NO_STEPS, since="0.5.11"),
    _rule("auto-steps", STEPS, "auto", "CFG-1", "steps, topk and draft tokens are chosen by the target's class",
          _FAMILY, _NO_STEPS, _NOT_ADAPTIVE, since="0.4.4"),
    _rule("auto-topk", TOPK, "auto", "CFG-1", "steps, topk and draft tokens are chosen by the target's class",
          _FAMILY, _NO_STEPS, _NOT_ADAPTIVE, since="0.4.4"),
    _rule("auto-tokens", TOKENS, "auto", "CFG-1", "steps, topk and draft tokens are chosen by the target's class",
          _FAMILY, _NO_STEPS, _NOT_ADAPTIVE, since="0.4.4"),
    _rule("page-topk", TOPK, "1", "CFG-1", "trees are refused with pages larger than 1",
          _FAMILY, _when("page_size", "above", "1"), since="0.4.4", before="0.4.9",
          log=r"speculative_eagle_topk is adjusted to 1 when page_size > 1"),
    _rule("chain-tokens", TOKENS, "steps+1", "CFG-3",
          "a chain (topk 1) verifies steps + 1 tokens, whatever --speculative-num-draft-tokens says",
          _FAMILY, _when(TOPK, "is", "1"), since="0.4.4",
          log=r"speculative_num_draft_tokens is adjusted to speculative_num_steps \+ 1"),
    _rule("ngram-topk", TOPK, "=speculative_ngram_max_bfs_breadth", "CFG-1",
          "n-gram drafting takes its breadth for topk, whatever --speculative-eagle-topk says", _NGRAM, since="0.5.3"),
    _rule("ngram-tokens", TOKENS, "12", "CFG-1", "n-gram drafting verifies 12 tokens unless told otherwise",
          _NGRAM, _when(TOKENS, "absent"), since="0.5.10",
          log=r"speculative_num_draft_tokens is set to 12 by default for ngram"),
    _rule("ngram-tokens-old", TOKENS, "=speculative_ngram_max_match_window_size", "CFG-1",
          "n-gram drafting verifies as many tokens as its match window", _NGRAM, _when(TOKENS, "absent"),
          since="0.5.3", before="0.5.10"),
    _rule("ngram-steps", STEPS, "tokens//topk", None, "for n-gram drafting the step count has no meaning (0 is normal)",
          _NGRAM, _when(STEPS, "absent"), since="0.5.14", binds=False),
    _rule("block-steps", STEPS, "1", "CFG-1", "block drafters make one step", _BLOCK, since="0.5.11",
          log=r"only supports speculative_num_steps == 1; overriding"),
    _rule("block-topk", TOPK, "1", "CFG-1", "block drafters have no tree", _BLOCK, since="0.5.11",
          log=r"only supports speculative_eagle_topk == 1; overriding"),
    _rule("block-tokens", TOKENS, None, "CFG-1", "block drafters take the draft's block size",
          _BLOCK, since="0.5.11", log=r"speculative_num_draft_tokens is not set; defaulting to \d+"),
    _rule("adaptive-off", "speculative_adaptive", "False", "CFG-1", "adaptive speculation is not possible here",
          _when("speculative_adaptive", "asked", "True"), since="0.5.11", log=r"speculative_adaptive disabled: "),
    # The draft model.
    _rule("bundled-draft", _DRAFT_PATH, "=model_path", None, "the draft layers are part of the target's checkpoint",
          _ANY, _when(_DRAFT_PATH, "absent"), binds=False),
    _rule("draft-revision", _REVISION, "main", None, "the draft's revision is main unless told otherwise",
          _ANY, _when(_REVISION, "absent"), since="0.5.2", binds=False),
    _rule("draft-revision-bundled", _REVISION, "=revision", None, "the bundled draft has the target's revision",
          _ANY, _when(_DRAFT_PATH, "absent"), since="0.5.2", binds=False),
    _rule("draft-quantization", "speculative_draft_model_quantization", "=quantization", "CFG-1",
          "the draft is loaded with the target's quantisation unless told `unquant`",
          _ANY, _when("speculative_draft_model_quantization", "absent"), since="0.5.7"),
    _rule("draft-moe-runner", "speculative_moe_runner_backend", None, None, "the draft takes the target's MoE runner",
          _when("speculative_moe_runner_backend", "absent"), since="0.5.4.post1", binds=False),
    _rule("token-map-ignored", "speculative_token_map", "=speculative_token_map", "CFG-1",
          "EAGLE-3 heads bring their own token map, so the given one is ignored",
          _when(ALGORITHM, "is", "EAGLE3"), since="0.4.6", drops=True,
          log=r"Speculative token map specified, but EAGLE3 models already have this"),
    _rule("window-ignored", "speculative_draft_window_size", "=speculative_draft_window_size", "CFG-1",
          "this algorithm does not honour the draft window", _ANY, since="0.5.13", drops=True,
          log=r"--speculative-draft-window-size has no effect with"),
    _rule("multi-layer", "enable_multi_layer_eagle", "True", None, "this target drafts with one layer per step",
          _EAGLES, _when("architecture", "is", *_MULTI_LAYER), since="0.5.7",
          log=r"Enable multi-layer EAGLE speculative decoding"),
    _rule("rocm-sampling", "speculative_use_rejection_sampling", "True", None,
          "ROCm needs rejection sampling to sample at all", _EAGLES, since="0.5.14",
          log=r"ROCm needs rejection sampling for EAGLE"),
    _rule("block-verification", "speculative_use_rejection_sampling", "True", None,
          "block verification needs rejection sampling",
          _EAGLES, _when("speculative_use_block_verification", "is", "True"), since="0.5.22"),
    _rule("verify-mode", "speculative_attention_mode", "decode", "CFG-1",
          "this attention backend verifies with the decode backend", _ANY, since="0.5.2",
          log=r"overriding --speculative-attention-mode=prefill to decode"),
    _rule("draft-attention", "speculative_draft_attention_backend", None, None,
          "this target pins the draft's attention backend", _ANY, since="0.5.7",
          log=r"uses trtllm_mha for the draft worker"),
    # Capacity.
    _rule("limit-256", LIMIT, "256", "CFG-1", "this model family limits running requests to 256 under speculation",
          _ANY, _V4, _when(LIMIT, "absent"), since="0.5.12", log=r"Setting max_running_requests to \d+ for Deepseek"),
    _rule("limit-48", LIMIT, "48", "CFG-1",
          "speculation limits running requests to 48, for all data-parallel ranks together, unless told otherwise",
          _ANY, _when(LIMIT, "absent"), since="0.4.7",
          log=r"Max running requests is reset to 48 for speculative decoding"),
    _rule("limit-share", "effective_max_running_requests_per_dp", "dp-share", "CFG-1",
          "the limit of running requests is divided by the data-parallel attention ranks", _ANY, _DP_ON, since="0.4.6"),
    _rule("memory-fraction", "mem_fraction_static", None, None,
          "the static memory fraction is chosen by the engine, with a reserve for the draft",
          _ANY, _when("mem_fraction_static", "absent"), binds=False),
    _rule("chunk-share", "chunked_prefill_size", "chunk-share", None,
          "data-parallel attention divides the prefill chunk by its ranks", _DP_ON, binds=False),
    _rule("chunk-off", "chunked_prefill_size", "-1", "CFG-1", "EAGLE runs without chunked prefill",
          _FAMILY, before="0.4.6", log=r"The radix cache, chunked prefill, and overlap scheduler are disabled"),
    _rule("radix-off", "disable_radix_cache", "True", "CFG-1", "EAGLE runs without the radix cache",
          _FAMILY, before="0.4.6", log=r"The radix cache, chunked prefill, and overlap scheduler are disabled"),
    # Scheduling.
    _rule("overlap-first", _OVERLAP, "True", "CFG-1", "EAGLE runs without the overlap scheduler",
          _FAMILY, before="0.4.6", log=r"The radix cache, chunked prefill, and overlap scheduler are disabled"),
    _rule("overlap-eagle", _OVERLAP, "True", "CFG-1", "speculation turns the overlap scheduler off",
          _FAMILY, since="0.4.4", before="0.5.4", log=r"Overlap scheduler is disabled because of using eagle spec"),
    _rule("overlap-beta", _OVERLAP, "True", "CFG-1", "the overlap scheduler needs the beta worker",
          _FAMILY, since="0.5.3.post1", before="0.5.7",
          log=r"Overlap scheduler is disabled because of using eagle3 (?:and|or) standalone"),
    _rule("overlap-v2-off", _OVERLAP, "True", "CFG-1", "the overlap scheduler needs SGLANG_ENABLE_SPEC_V2=True",
          _FAMILY, since="0.5.7", before="0.5.11", log=r"Overlap scheduler is disabled when spec v2 is off"),
    _rule("overlap-v1", _OVERLAP, "True", "CFG-1", "trees (topk above 1) run in the first worker, without overlap",
          _FAMILY, since="0.5.11", before="0.5.13", log=r"Spec v1 is used for eagle"),
    _rule("overlap-block", _OVERLAP, "True", "CFG-1", "this algorithm runs without the overlap scheduler",
          _NOT_NGRAM, since="0.5.11", before="0.5.14", log=r"Overlap scheduler is disabled when using \w+ spec"),
    _rule("overlap-ngram", _OVERLAP, "True", "CFG-1", "n-gram drafting runs without the overlap scheduler",
          _NGRAM, before="0.5.14", log=r"The overlap scheduler and mixed chunked prefill are disabled"),
    _rule("mixed-eagle", "enable_mixed_chunk", "False", "CFG-1", "speculation turns mixed chunked prefill off",
          _NOT_NGRAM, before="0.5.19", log=r"Mixed chunked prefill is disabled because of using"),
    _rule("mixed-other", "enable_mixed_chunk", "False", "CFG-1", "this algorithm turns mixed chunked prefill off",
          _ANY, since="0.5.19", log=r"Mixed chunked prefill is disabled: "),
    _rule("mixed-ngram", "enable_mixed_chunk", "False", "CFG-1", "n-gram drafting turns mixed chunked prefill off",
          _NGRAM, log=r"mixed chunked prefill are disabled because of using ngram"),
    # Attention.
    _rule("tree-attention", "attention_backend", None, None,
          "with a tree (topk above 1) some GPUs get another default attention backend than without speculation",
          _EAGLES, _when("attention_backend", "absent"), _when(TOPK, "above", "1"),
          log=r"Attention backend not (?:specified|set)\. Use (?:flashinfer|triton)"),
    _rule("attention-default", "attention_backend", None, None, "the engine chooses its attention backend",
          _when("attention_backend", "absent"), binds=False, log=r"Attention backend not (?:specified|set)\. Use \w+"),
    _rule("draft-page", "page_size", "64", "CFG-1", "the draft backend changes the page size of both models",
          _ANY, _when("speculative_draft_attention_backend", "is", "trtllm_mha"),
          log=r"TensorRT-LLM MHA only supports page_size of .* changing page_size"),
    _rule("mamba-buffer", "mamba_radix_cache_strategy", "extra_buffer", None,
          "with overlap the recurrent state gets an extra buffer", _ANY, since="0.5.7", binds=False),
)  # fmt: skip

RULES_BY_ID: dict[str, Rule] = {rule.id: rule for rule in RULES}

# Values that arguments of speculation have when nobody sets them: these are no rewrites.
STATIC_DEFAULTS: dict[str, str | float | bool | None] = {
    "speculative_accept_threshold_single": 1.0,
    "speculative_accept_threshold_acc": 1.0,
    "speculative_attention_mode": "prefill",
    "speculative_dsa_topk_backend": "sgl-kernel",
    "speculative_domino_candidate_pool_size": 2048,
    "speculative_ngram_min_bfs_breadth": 1,
    "speculative_ngram_max_bfs_breadth": 10,
    "speculative_ngram_match_type": "BFS",
    "speculative_ngram_max_trie_depth": 18,
    "speculative_ngram_branch_length": 18,
    "speculative_ngram_min_match_window_size": 1,
    "speculative_ngram_max_match_window_size": 12,
    "speculative_ngram_capacity": 10_000_000,
    "speculative_ngram_external_sam_budget": 0,
    "speculative_ngram_external_corpus_max_tokens": 10_000_000,
    "speculative_boundary_reduction": "rs+rsv",
    "decoupled_spec_role": "null",
}
_LLAMA = frozenset({"LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM"})
_CHAIN_SINCE_047 = frozenset({"DeepseekV3ForCausalLM", "DeepseekV2ForCausalLM"})
_WIDE, _CHAIN = ("5", "4", "8"), ("3", "1", "4")
_AUTO_ALL = VersionRange.of("0.5.8")
_AUTO_SINCE_047 = VersionRange.of("0.4.7")
_AUTO_BEFORE_047 = VersionRange.of(before="0.4.7")
_OTHERS_WIDE = VersionRange.of("0.4.4", "0.5.8")
# Classes that were given a chain in some version between 0.5.2 and 0.5.8; which one is not worth a row each.
_CHAIN_SOMETIME = frozenset(
    {
        "BailingMoeForCausalLM",
        "BailingMoeV2ForCausalLM",
        "DeepseekV32ForCausalLM",
        "Glm4MoeForCausalLM",
        "GptOssForCausalLM",
        "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
    }
)


def auto_triple(algorithm: str | None, architecture: str | None, versions: VersionRange) -> tuple[str, str, str] | None:
    """Steps, topk and draft tokens that the engine chooses when none is given; None where it cannot be told."""
    if algorithm == "STANDALONE":
        return _CHAIN
    if architecture is None:
        return None
    if architecture in _LLAMA:
        return _WIDE
    if architecture in _CHAIN_SINCE_047:
        return _CHAIN if _AUTO_SINCE_047.covers(versions) else _WIDE if _AUTO_BEFORE_047.covers(versions) else None
    if _AUTO_ALL.covers(versions):
        return _CHAIN
    if _OTHERS_WIDE.covers(versions) and architecture not in _CHAIN_SOMETIME:
        return _WIDE
    return None
