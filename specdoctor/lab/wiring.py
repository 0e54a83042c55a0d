"""Which hidden states the target hands to an EAGLE-3 drafter, by engine version and target family.

States are named by where they lie in the residual stream: "embed" enters layer 0, "out(k)" leaves layer k,
"final" is the state after the last norm.
"""

from __future__ import annotations

from typing import Any

from specdoctor.lab.world import Model

Release = tuple[int, int, int]

DEEPSEEK_FAMILY = frozenset(
    {
        "DeepseekV2ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV32ForCausalLM",
        "KimiK25ForConditionalGeneration",
        "MistralLarge3ForCausalLM",
        "Glm4MoeLiteForCausalLM",
    }
)
GPT_OSS = "GptOssForCausalLM"


class WiringError(Exception):
    """The target's forward fails on these layer ids; the text is the last line of the traceback."""


def entry_state(layer: int) -> str:
    """Name of the state that enters a layer."""
    return "embed" if layer == 0 else f"out({layer - 1})"


def configured_ids(draft_config: dict[str, Any]) -> list[int] | None:
    """Layer ids the target reads from a drafter's config; None when it falls back to its defaults, silently."""
    block = draft_config.get("eagle_config")
    if not isinstance(block, dict):
        return None
    ids = block.get("eagle_aux_hidden_state_layer_ids")
    return [int(value) for value in ids] if isinstance(ids, list) else None


def uses_aux_states(draft_config: dict[str, Any]) -> bool:
    block = draft_config.get("eagle_config")
    return not isinstance(block, dict) or bool(block.get("use_aux_hidden_state", True))


def captured_states(
    target: Model, draft: Model, *, algorithm: str, release: Release, ids_as_inputs: bool = False
) -> tuple[str, ...]:
    """The states handed over, in the order of the drafter's input; `ids_as_inputs` is a patch of the engine.

    Raises WiringError when the target's forward cannot deliver them.
    """
    if algorithm != "EAGLE3" or not uses_aux_states(draft.config):
        return ("final",)
    layers = int(target.text_config["num_hidden_layers"])
    ids = configured_ids(draft.config)
    entries = [2, layers // 2, layers - 3]
    if ids is not None:
        entries = list(ids) if ids_as_inputs else _entries(ids, target, layers, release)
    captured = sorted(set(entries))
    last = layers if target.architecture == GPT_OSS and release >= (0, 5, 17) else layers - 1
    delivered = [entry for entry in captured if 0 <= entry <= last]
    if 0 in delivered and release < (0, 5, 20):
        raise WiringError("TypeError: unsupported operand type(s) for +: 'Tensor' and 'NoneType'")
    wanted = len(ids) if ids is not None else 3
    if len(delivered) != wanted:
        raise WiringError(_width_text(draft, len(delivered), wanted))
    return tuple(entry_state(entry) for entry in delivered)


def _entries(ids: list[int], target: Model, layers: int, release: Release) -> list[int]:
    if target.architecture in DEEPSEEK_FAMILY or target.text_config.get("model_type") in {"deepseek_v3", "kimi_k2"}:
        taken_as_entries = release >= (0, 5, 13) and ids[:1] != [1]
        return list(ids) if taken_as_entries else [value + 1 for value in ids]
    if target.architecture == GPT_OSS and release >= (0, 5, 17) and max(ids, default=0) == layers:
        return list(ids)
    return [value + 1 for value in ids]


def _width_text(draft: Model, delivered: int, wanted: int) -> str:
    hidden = int(draft.config.get("target_hidden_size") or draft.config.get("hidden_size") or 0)
    return (
        f"RuntimeError: mat1 and mat2 shapes cannot be multiplied "
        f"(1x{delivered * hidden} and {wanted * hidden}x{draft.config.get('hidden_size')})"
    )
