"""Which draft class runs for a pair of models, and how pairs that do not fit die."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specdoctor.lab import sglang_failures as failures
from specdoctor.lab.engine_types import LateFailure
from specdoctor.lab.world import Model, World

_NEXTN = {
    "DeepseekV3ForCausalLM": "DeepseekV3ForCausalLMNextN",
    "DeepseekV32ForCausalLM": "DeepseekV3ForCausalLMNextN",
    "Glm4MoeForCausalLM": "Glm4MoeForCausalLMNextN",
    "MiMoForCausalLM": "MiMoMTP",
    "Qwen3NextForCausalLM": "Qwen3NextForCausalLMMTP",
}
_UNSERVED = frozenset({"Eagle3Speculator", "Eagle3DraftModel"})
_EAGLE3_SINCE = {
    "DeepseekV2ForCausalLM": (0, 5, 6),
    "DeepseekV3ForCausalLM": (0, 5, 6),
    "KimiK25ForConditionalGeneration": (0, 5, 12),
    "Qwen3NextForCausalLM": (0, 5, 9),
    "Glm4MoeForCausalLM": (0, 5, 6),
    "Glm4MoeLiteForCausalLM": (0, 5, 15),
}
_ARCHITECTURES = (
    "dict_keys(['LlamaForCausalLM', 'Qwen3ForCausalLM', 'DeepseekV3ForCausalLM', 'LlamaForCausalLMEagle3'])"
)


def draft_class(args: Mapping[str, Any], target: Model, draft: Model | None) -> str | None:
    """Class name in the second `Load weight end` line."""
    if draft is None:
        return None
    if args["speculative_algorithm"] == "EAGLE":
        return _NEXTN.get(draft.architecture, draft.architecture)
    return draft.architecture


def wired_as_trained(args: Mapping[str, Any], target: Model, draft: Model | None, states: tuple[str, ...]) -> bool:
    """Whether the drafter meets the target and the states that it learnt from."""
    if draft is None:
        return False
    learnt = draft.training
    same_target = learnt.target in (None, target.id)
    if args["speculative_algorithm"] == "STANDALONE":
        return same_target and draft.text_config.get("vocab_size") == target.text_config.get("vocab_size")
    if args["speculative_algorithm"] == "EAGLE3":
        return same_target and (not learnt.states or learnt.states == states)
    return same_target


def pairing_failure(
    args: Mapping[str, Any], world: World, target: Model, draft: Model | None, env: Mapping[str, str]
) -> LateFailure | None:
    """The late failure of a pair of models that do not go together; None when they load."""
    algorithm, release = args["speculative_algorithm"], world.engine.release
    if draft is None or algorithm in {None, "NGRAM"}:
        return None
    if draft is target:
        last = f"AttributeError: {target.architecture!r} object has no attribute 'hot_token_id'"
        code = "if self.draft_runner.model.hot_token_id is not None:"
        frames = [
            ("sglang/srt/speculative/eagle_worker_v2.py", 298, "init_lm_head", code),
            ("torch/nn/modules/module.py", 1968, "__getattr__", "raise AttributeError("),
        ]
        return failures.scheduler_crash("memory" if release >= (0, 5, 14) else "draft", world, frames, last)
    if algorithm == "EAGLE3" and release < _EAGLE3_SINCE.get(target.architecture, (0, 0, 0)):
        last = f"AttributeError: {target.architecture!r} object has no attribute 'set_eagle3_layers_to_capture'"
        return failures.scheduler_crash("weights", world, [], last)
    if draft.architecture in _UNSERVED:
        last = (
            f"ValueError: Model architectures {[draft.architecture]!r} are not supported for now. "
            f"Supported architectures: {_ARCHITECTURES}"
        )
        return failures.scheduler_crash("draft", world, [], last)
    return _context_failure(args, world, target, draft, env) or _shape_failure(str(algorithm), world, target, draft)


def _context_failure(
    args: Mapping[str, Any], world: World, target: Model, draft: Model, env: Mapping[str, str]
) -> LateFailure | None:
    limit = draft.text_config.get("max_position_embeddings")
    context = int(args["context_length"] or target.text_config.get("max_position_embeddings", 131072))
    if limit is None or int(limit) >= context or env.get("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"):
        return None
    last = failures.context_error("Target model's context_length", context, int(limit))
    frames = [("sglang/srt/configs/model_config.py", 402, "_derive_context_length", "raise ValueError(msg)")]
    return failures.scheduler_crash("draft", world, frames, last)


def _shape_failure(algorithm: str, world: World, target: Model, draft: Model) -> LateFailure | None:
    if algorithm == "EAGLE3" and draft.kind in {"eagle", "mtp"}:
        hidden = int(target.text_config.get("hidden_size", 4096))
        return failures.capture_failure(
            world, f"RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x{3 * hidden} and {2 * hidden}x{hidden})"
        )
    if algorithm != "STANDALONE":
        return None
    if draft.kind in {"eagle3", "eagle", "mtp"}:
        return failures.capture_failure(world, "AttributeError: 'NoneType' object has no attribute 'shape'")
    ours, theirs = target.text_config.get("vocab_size"), draft.text_config.get("vocab_size")
    if ours != theirs and world.engine.release >= (0, 5, 13):
        last = (
            "ValueError: STANDALONE speculative decoding requires the draft model to share the same vocabulary as the "
            f"target model, but got target vocab_size={ours} and draft vocab_size={theirs}. Use a draft model with a "
            "matching vocabulary, or a speculative algorithm that supports heterogeneous vocabularies."
        )
        frames = [
            ("sglang/srt/speculative/standalone_worker_v2.py", 172, "__init__", "self._validate_vocab_compatibility("),
            (
                "sglang/srt/speculative/standalone_worker_v2.py",
                197,
                "_validate_vocab_compatibility",
                "raise ValueError(",
            ),
        ]
        return failures.scheduler_crash("draft", world, frames, last)
    return None
