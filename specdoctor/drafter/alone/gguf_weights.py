"""The tensors of an EAGLE-3 head in a GGUF file under the names, and in the order of rows, of the checkpoint before.

The converter turns neighbouring rows of q and k where a checkpoint turns the halves of a head, and writes target ids in
d2t where a checkpoint has offsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdoctor.core.errors import CheckpointError

ARCHITECTURE = "eagle3"
_TOP = {"token_embd": "embed_tokens", "output_norm": "norm", "output": "lm_head", "fc": "fc"}
_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_norm_2": "hidden_norm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_HEADS = {"attn_q": "num_attention_heads", "attn_k": "num_key_value_heads"}
Stored = tuple[NDArray[Any], str]


def as_before(tensors: Mapping[str, Stored], config: Mapping[str, Any], where: str) -> dict[str, Stored]:
    """Raises CheckpointError for a file that holds no EAGLE-3 head."""
    if config.get("general.architecture") != ARCHITECTURE:
        raise CheckpointError(
            f"{where}: of GGUF files only EAGLE-3 heads are calculated with",
            next_step="give the folder it was made from (config.json and .safetensors)",
        )
    found: dict[str, Stored] = {}
    for name, (array, dtype) in tensors.items():
        parts = name.split(".")
        if name == "d2t":
            found[name] = (array - np.arange(len(array), dtype=array.dtype), dtype)
        elif parts[0] == "blk" and len(parts) > 3 and parts[2] in _LAYER:
            place = "midlayer" if parts[1] == "0" else f"layers.{parts[1]}"
            heads = config.get(_HEADS.get(parts[2], ""))
            rows = _halves(array, int(heads), where) if isinstance(heads, int) else array
            found[f"{place}.{_LAYER[parts[2]]}.{parts[3]}"] = (rows, dtype)
        else:
            found[".".join([_TOP.get(parts[0], parts[0]), *parts[1:]])] = (array, dtype)
    return found


def _halves(array: NDArray[Any], heads: int, where: str) -> NDArray[Any]:
    """Rows of each head with those of its first half before those of its second one."""
    if heads < 1 or array.ndim != 2 or array.shape[0] % (2 * heads):
        raise CheckpointError(f"{where}: {list(array.shape)} rows do not divide into {heads} heads", next_step="")
    return array.reshape(heads, -1, 2, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
