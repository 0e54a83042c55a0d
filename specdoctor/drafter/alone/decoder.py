"""A decoder layer made of a checkpoint's weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.alone.arrays import Floats
from specdoctor.drafter.alone.latent import latent_attention
from specdoctor.drafter.alone.layer import Attention, Layer, Mlp
from specdoctor.drafter.alone.rope import rope_of
from specdoctor.drafter.alone.weights import Weights, size
from specdoctor.drafter.config_numbers import real


def decoder_layer(weights: Weights, config: Mapping[str, Any], *names: str, fed: int | None = None) -> Layer:
    """One layer of the Llama or, dense, of the DeepSeek kind.

    `names` are the prefixes under which it may be found, such as `midlayer` or `layers.0`.

    `fed` is the width of what its attention sees, the hidden size unless said.

    Raises CheckpointError for an attention or an activation of another kind, missing tensors, and sizes that disagree.
    """
    act = str(config.get("hidden_act", "silu"))
    if act not in ("silu", "swish"):
        raise CheckpointError(f"{weights.where}: activation {act!r} is not calculated here", next_step="silu is")
    eps = real(config, "rms_norm_eps", weights.where, 1e-6)
    hidden = size(config, "hidden_size", weights.where)

    def shaped(part: str, *shape: int | None) -> Floats:
        return weights.shaped(shape, *(f"{name}.{part}.weight" for name in names))

    gate = shaped("mlp.gate_proj", None, hidden)
    return Layer(
        attention=latent_attention(weights, config, names, fed or hidden)
        if weights.has(*(f"{name}.self_attn.kv_a_proj_with_mqa.weight" for name in names))
        else _attention(weights, config, names, eps, fed or hidden),
        mlp=Mlp(
            gate=gate, up=shaped("mlp.up_proj", len(gate), hidden), down=shaped("mlp.down_proj", hidden, len(gate))
        ),
        input_norm=shaped("input_layernorm", hidden),
        post_norm=shaped("post_attention_layernorm", hidden),
        eps=eps,
    )


def _attention(weights: Weights, config: Mapping[str, Any], names: tuple[str, ...], eps: float, fed: int) -> Attention:
    heads = size(config, "num_attention_heads", weights.where)
    kv_heads = size(config, "num_key_value_heads", weights.where, default=heads)
    hidden = size(config, "hidden_size", weights.where)
    head_dim = size(config, "head_dim", weights.where, default=max(hidden // heads, 1))
    if heads % kv_heads or head_dim % 2:
        raise CheckpointError(
            f"{weights.where}: config.json speaks of {heads} heads of {head_dim} over {kv_heads} of keys, "
            "which does not divide",
            next_step="the configuration is that of another checkpoint, or damaged",
        )
    rows = {"q": heads * head_dim, "k": kv_heads * head_dim, "v": kv_heads * head_dim}

    def names_of(part: str, kind: str) -> list[str]:
        return [f"{name}.self_attn.{part}_{kind}" for name in names]

    q, k, v = (weights.shaped((rows[part], fed), *names_of(part, "proj.weight")) for part in "qkv")
    o = weights.shaped((hidden, rows["q"]), *names_of("o", "proj.weight"))
    biases = [
        weights.shaped((rows[part],), *names_of(part, "proj.bias"))
        for part in "qkv"
        if weights.has(*names_of(part, "proj.bias"))
    ]
    norms = [
        weights.shaped((head_dim,), *names_of(part, "norm.weight"))
        for part in "qk"
        if weights.has(*names_of(part, "norm.weight"))
    ]
    return Attention(
        q=q,
        k=k,
        v=v,
        o=o,
        heads=heads,
        kv_heads=kv_heads,
        rope=rope_of(config, head_dim, weights.where),
        eps=eps,
        biases=(biases[0], biases[1], biases[2]) if len(biases) == 3 else None,
        head_norms=(norms[0], norms[1]) if len(norms) == 2 else None,
    )
